/// Attributes by key and in bytes, and what descriptors say of a characteristic.
extension Peripheral {
    // MARK: Bytes

    /// Reads a characteristic's value, in bytes.
    ///
    /// - Parameters:
    ///   - offset: where to begin, 0 to 512. Past the value's end throws `invalidOffset`; of a value that fits one packet many
    ///     peripherals give no part (ATT error 0x0B).
    ///   - timeout: the longest wait for the answer, once connected; nil for the configuration's.
    public func read(
        _ key: AttributeKey, offset: Int = 0, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await central.read(key, of: id, offset: offset, timeout: timeout)
    }

    /// Writes a characteristic's value, in bytes.
    ///
    /// - Parameters:
    ///   - type: with response by default, which returns once the peripheral has taken the value. Without response, a value
    ///     that does not fit one packet throws `invalidLength`; see ``maximumWriteLength(for:)``.
    ///   - offset: where in the value to begin, 0 to 512; 0 without response.
    ///   - timeout: the longest wait for the answer, once connected; nil for the configuration's.
    public func write(
        _ value: [UInt8], to key: AttributeKey, type: WriteType = .withResponse, offset: Int = 0,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, offset: offset, timeout: timeout)
    }

    /// Writes a value; without `connecting` it throws `disconnected` where there is no link.
    package func write(
        _ value: [UInt8], to key: AttributeKey, type: WriteType, timeout: Duration?, connecting: Bool
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, timeout: timeout, connecting: connecting)
    }

    /// The values that the peripheral notifies or indicates from now on, in bytes; as the notifications of a typed key.
    public func notifications(
        _ key: AttributeKey, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy = .dropOldest(capacity: 256), timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<[UInt8]> {
        try await notifications(Characteristic(key), delivery: delivery, overflow: overflow, timeout: timeout)
    }

    /// A writer of values without response, in bytes; as that of a typed key.
    public func packetWriter(
        to key: AttributeKey, timeout: Duration? = nil
    ) async throws(BLEError) -> PacketWriter<[UInt8]> {
        try await packetWriter(to: Characteristic(key), timeout: timeout)
    }

    /// A request to a control point and its answer, in bytes; as that of a typed key.
    public func request(
        _ value: [UInt8], on key: AttributeKey, timeout: Duration? = nil,
        matching isAnswer: @escaping @Sendable ([UInt8]) -> Bool = { _ in true }
    ) async throws(BLEError) -> [UInt8] {
        try await request(value, on: Characteristic(key), timeout: timeout, matching: isAnswer)
    }

    // MARK: Descriptors

    /// What the peripheral calls the characteristic (Characteristic User Description, 0x2901); nil where it does not say.
    public func userDescription(
        of characteristic: AttributeKey, timeout: Duration? = nil
    ) async throws(BLEError) -> String? {
        guard let bytes = try await value(BluetoothUUID(0x2901), of: characteristic, timeout) else { return nil }
        return try String(bytes: bytes)
    }

    /// How the characteristic's value is to be shown (Characteristic Presentation Format, 0x2904); nil where the peripheral
    /// does not say.
    public func presentationFormat(
        of characteristic: AttributeKey, timeout: Duration? = nil
    ) async throws(BLEError) -> PresentationFormat? {
        guard let bytes = try await value(BluetoothUUID(0x2904), of: characteristic, timeout) else { return nil }
        do throws(BLEError) {
            return try PresentationFormat(bytes: bytes)
        } catch {
            throw error.at(id, service: characteristic.service, characteristic: characteristic.characteristic)
        }
    }

    /// A descriptor's value, nil where there is none.
    private func value(
        _ descriptor: BluetoothUUID, of characteristic: AttributeKey, _ timeout: Duration?
    ) async throws(BLEError) -> [UInt8]? {
        do throws(BLEError) {
            return try await readDescriptor(descriptor, of: characteristic, timeout: timeout)
        } catch {
            if error.undiscovered == [descriptor] { return nil }
            throw error
        }
    }
}

extension Characteristic where Value == [UInt8] {
    /// A key whose value is raw bytes.
    public init(_ key: AttributeKey) {
        self.init(.bytes, key.characteristic)
        self.key = key
    }
}
