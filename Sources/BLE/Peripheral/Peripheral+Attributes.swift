/// Access to attributes by key and as bytes, and to the descriptors that describe a characteristic.
extension Peripheral {
    // MARK: Bytes

    /// Reads a characteristic's value as bytes.
    ///
    /// - Parameters:
    ///   - offset: the position of the first byte, 0 to 512. A position past the value's end throws `invalidOffset`.
    ///     Many peripherals reject offsets in a value that fits one packet (ATT error 0x0B).
    ///   - timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation timeout.
    public func read(
        _ key: CharacteristicKey, offset: Int = 0, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await central.read(key, of: id, offset: offset, timeout: timeout)
    }

    /// Writes a characteristic's value as bytes.
    ///
    /// - Parameters:
    ///   - type: with response by default, which returns when the peripheral has accepted the value. Without response,
    ///     a value that does not fit one packet throws `invalidLength`; see ``maximumWriteLength(for:)``.
    ///   - offset: the position of the first byte in the value, 0 to 512. Must be 0 without response.
    ///   - timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation timeout.
    public func write(
        _ value: [UInt8], to key: CharacteristicKey, type: WriteType = .withResponse, offset: Int = 0,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, offset: offset, timeout: timeout)
    }

    /// Writes a value. If `connecting` is false, throws `disconnected` if there is no link.
    package func write(
        _ value: [UInt8], to key: CharacteristicKey, type: WriteType, timeout: Duration?, connecting: Bool
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, timeout: timeout, connecting: connecting)
    }

    /// Subscribes to the values that the peripheral notifies or indicates, as bytes. Otherwise like the method that
    /// takes a typed ``Characteristic``.
    public func notifications(
        _ key: CharacteristicKey, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy = .dropOldest(capacity: 256), timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<[UInt8]> {
        try await notifications(Characteristic(key), delivery: delivery, overflow: overflow, timeout: timeout)
    }

    /// Opens a writer for values without response, as bytes. Otherwise like the method that takes a typed
    /// ``Characteristic``.
    public func packetWriter(
        to key: CharacteristicKey, timeout: Duration? = nil
    ) async throws(BLEError) -> PacketWriter<[UInt8]> {
        try await packetWriter(to: Characteristic(key), timeout: timeout)
    }

    /// Writes a request to a control point and returns its answer, as bytes. Otherwise like the method that takes a
    /// typed ``Characteristic``.
    public func request(
        _ value: [UInt8], on key: CharacteristicKey, timeout: Duration? = nil,
        matching isAnswer: @escaping @Sendable ([UInt8]) -> Bool = { _ in true }
    ) async throws(BLEError) -> [UInt8] {
        try await request(value, on: Characteristic(key), timeout: timeout, matching: isAnswer)
    }

    // MARK: Descriptors

    /// Reads the user-readable name of the characteristic (Characteristic User Description, 0x2901). Nil if it has
    /// none.
    public func userDescription(
        of characteristic: CharacteristicKey, timeout: Duration? = nil
    ) async throws(BLEError) -> String? {
        guard let bytes = try await value(BluetoothUUID(0x2901), of: characteristic, timeout) else { return nil }
        return try String(bytes: bytes)
    }

    /// Reads the presentation format of the characteristic's value (Characteristic Presentation Format, 0x2904). Nil if
    /// it has none.
    public func presentationFormat(
        of characteristic: CharacteristicKey, timeout: Duration? = nil
    ) async throws(BLEError) -> PresentationFormat? {
        guard let bytes = try await value(BluetoothUUID(0x2904), of: characteristic, timeout) else { return nil }
        do throws(BLEError) {
            return try PresentationFormat(bytes: bytes)
        } catch {
            throw error.at(id, service: characteristic.service, characteristic: characteristic.characteristic)
        }
    }

    /// Reads a descriptor's value. Nil if there is no such descriptor.
    private func value(
        _ descriptor: BluetoothUUID, of characteristic: CharacteristicKey, _ timeout: Duration?
    ) async throws(BLEError) -> [UInt8]? {
        do throws(BLEError) {
            return try await readDescriptor(descriptor, of: characteristic, timeout: timeout)
        } catch {
            if error.missingUUIDs == [descriptor] { return nil }
            throw error
        }
    }
}

extension Characteristic where Value == [UInt8] {
    /// Creates a characteristic whose value is raw bytes.
    public init(_ key: CharacteristicKey) {
        self.init(.bytes, key.characteristic)
        self.key = key
    }
}
