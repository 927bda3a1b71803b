/// What a link carries, and how strong it is.
extension Central {
    /// The longest Attribute Protocol packet of the link, connecting as needed.
    func maximumPacketLength(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        try await connect(id, timeout: nil)
        return try await askPacketLength(id)
    }

    private func askPacketLength(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        do throws(BLEError) {
            let length = try await perform(
                on: id, timeout: configuration.operationTimeout, name: "asking for the packet length"
            ) { (backend) throws(BLEError) in try await backend.maximumPacketLength(id) }
            connections[id]?.packetLength = length
            return length
        } catch {
            throw error.at(id)
        }
    }

    func maximumWriteLength(_ id: Peripheral.ID, for type: WriteType) async throws(BLEError) -> Int {
        switch type {
        case .withResponse, .reliable: 512
        case .withoutResponse: min(512, try await maximumPacketLength(id) - 3)
        }
    }

    /// Refuses what does not fit one packet: nobody would hear that it was dropped.
    func checkPacket(_ count: Int, _ offset: Int, _ target: Target) async throws(BLEError) {
        let id = target.attribute.peripheral
        guard offset == 0 else {
            throw BLEError(.invalidArgument, "a write without response has no offset")
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        // A packet has 23 bytes at least, three of them for the header: Core Specification 5.4, volume 3, part F, 3.2.8.
        guard count > 20, count > (connections[id]?.packetLength ?? 0) - 3 else { return }
        // It may have grown meanwhile.
        let length: Int
        do throws(BLEError) {
            length = try await askPacketLength(id)
        } catch {
            if error.code == .notSupported { return }
            throw error
        }
        guard count > length - 3 else { return }
        throw BLEError(
            .invalidLength, "a write without response takes at most \(length - 3) bytes on this link, not \(count)",
            isRetryable: false, remedy: "Write with response, or in parts."
        ).at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
    }

    func signalStrength(_ id: Peripheral.ID) async throws(BLEError) -> Int {
        try await connect(id, timeout: nil)
        do throws(BLEError) {
            return try await perform(
                on: id, timeout: configuration.operationTimeout, name: "asking for the signal strength"
            ) { (backend) throws(BLEError) in try await backend.signalStrength(id) }
        } catch {
            throw error.at(id)
        }
    }

    /// The peripherals to which this machine has a link, whoever made it, in no particular order.
    ///
    /// Connecting to one of them takes its link over.
    ///
    /// - Parameter service: only those that are known to have this service; nil for all. A peripheral's services are known
    ///   from its advertising and once they have been discovered on a link.
    public func connectedPeripherals(with service: BluetoothUUID? = nil) async -> [Peripheral] {
        await backend.knownPeripherals()
            .filter { known in known.isConnected && service.map { known.services.contains($0) } ?? true }
            .map { peripheral($0.id) }
    }
}

extension Peripheral {
    /// The longest packet of the Attribute Protocol that the link carries (ATT_MTU), in bytes, 23 at least. Of a value, a
    /// notification carries 3 bytes less.
    ///
    /// Connects when there is no link. Throws `notSupported` where bluetoothd does not tell.
    public func maximumPacketLength() async throws(BLEError) -> Int {
        try await central.maximumPacketLength(id)
    }

    /// How many bytes a single write can carry: 512 when the peripheral answers, which is what an attribute can hold, and
    /// otherwise what fits one packet of the link.
    ///
    /// For a write without response, connects when there is no link and throws `notSupported` where bluetoothd does not tell.
    public func maximumWriteLength(for type: WriteType) async throws(BLEError) -> Int {
        try await central.maximumWriteLength(id, for: type)
    }

    /// The signal strength of the link, in dBm.
    ///
    /// Connects when there is no link. bluetoothd knows the strength of advertisements, not of links: unless the peripheral
    /// advertises while it is connected and a scan runs, this throws `notSupported`.
    public func signalStrength() async throws(BLEError) -> Int {
        try await central.signalStrength(id)
    }
}
