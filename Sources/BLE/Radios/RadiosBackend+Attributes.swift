internal import Waiting

/// What is done over a link, by the radio that has it.
extension RadiosBackend {
    package func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await backend(of: peripheral).discoverServices(peripheral)
    }

    package func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await backend(of: peripheral).attMTU(peripheral)
    }

    package func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await backend(of: peripheral).signalStrength(peripheral)
    }

    package func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let backend = backend(of: attribute.peripheral)
        return backend.enter(isCurrent: backend.isCurrent) {
            $0.start(operation, on: attribute, completion: completion)
        }
    }

    package func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        try await backend(of: characteristic.peripheral).startNotifications(of: characteristic, deliver: deliver)
    }

    package func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        try await backend(of: characteristic.peripheral).acquireNotifications(of: characteristic, deliver: deliver)
    }

    package func resumeNotifications(of characteristic: AttributeID) {
        backend(of: characteristic.peripheral).assumeIsolated { $0.resumeNotifications(of: characteristic) }
    }

    package func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        try await backend(of: characteristic.peripheral).stopNotifications(of: characteristic)
    }

    package func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
        try await backend(of: characteristic.peripheral).acquireWriting(to: characteristic)
    }

    package func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        try await backend(of: peripheral).openChannel(psm, options, to: peripheral)
    }

    /// The free slots of all radios together. Nil if one does not say so.
    package func freeSlots() -> Int? {
        members.indices.filter { members[$0].isOn }.reduce(0) { (sum: Int?, radio) in
            let slots = members[radio].backend.assumeIsolated { $0.freeSlots() }
            return slots.flatMap { slots in sum.map { $0 + slots } }
        }
    }
}
