/// The ATT MTU and the signal strength of a link.
extension Central {
    /// Returns the ATT MTU of the link, connecting if necessary.
    func attMTU(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        try await connect(id, timeout: nil)
        return try await refreshATTMTU(id)
    }

    private func refreshATTMTU(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        do throws(BLEError) {
            let length = try await perform(
                on: id, timeout: configuration.operationTimeout, name: "reading the ATT MTU"
            ) { (backend) throws(BLEError) in try await backend.attMTU(id) }
            links[id]?.setATTMTU(length)
            return length
        } catch {
            throw error.at(id)
        }
    }

    func maximumWriteLength(_ id: Peripheral.ID, for type: WriteType) async throws(BLEError) -> Int {
        switch type {
        case .withResponse, .reliable: 512
        case .withoutResponse: min(512, try await attMTU(id) - 3)
        }
    }

    /// Throws if a write without response does not fit in one packet: the stack would drop it silently.
    func checkPacket(_ count: Int, _ offset: Int, _ target: Target) async throws(BLEError) {
        let id = target.attribute.peripheral
        guard offset == 0 else {
            throw BLEError(.invalidArgument, "a write without response cannot have an offset")
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        // The ATT MTU is at least 23 bytes, three of them for the header: Core Specification 5.4, volume 3, part F,
        // 3.2.8.
        guard count > 20, count > (links[id]?.attMTU ?? 0) - 3 else { return }
        // The ATT MTU may have grown since the backend last reported it.
        let length: Int
        do throws(BLEError) {
            length = try await refreshATTMTU(id)
        } catch {
            if error.code == .notSupported { return }
            throw error
        }
        guard count > length - 3 else { return }
        throw BLEError(
            .invalidLength, "a write without response can carry at most \(length - 3) bytes on this link, not \(count)",
            isRetryable: false, remedy: "Write with response, or split the value."
        ).at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
    }

    func signalStrength(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        try await connect(id, timeout: nil)
        do throws(BLEError) {
            return try await perform(
                on: id, timeout: configuration.operationTimeout, name: "reading the signal strength"
            ) { (backend) throws(BLEError) in try await backend.signalStrength(id) }
        } catch {
            throw error.at(id)
        }
    }

    /// Returns the peripherals connected to this machine, including by other programs, in no particular order.
    ///
    /// Connecting to one of them uses its existing link.
    ///
    /// - Parameter service: a service that the peripherals must be known to have, or nil for all peripherals. A
    ///   peripheral's services are known from its advertisements, or once they have been discovered on a link.
    public func connectedPeripherals(with service: BluetoothUUID? = nil) async -> [Peripheral] {
        await backend.knownPeripherals()
            .filter { known in known.isConnected && service.map { known.services.contains($0) } ?? true }
            .map { peripheral($0.id) }
    }
}
