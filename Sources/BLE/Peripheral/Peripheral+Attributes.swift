/// Access to values by key and as bytes, and to the descriptors that describe a characteristic.
extension Peripheral {
    // MARK: Bytes

    /// Reads a characteristic's value as bytes, or its end.
    ///
    /// - Parameters:
    ///   - offset: the position of the first byte, 0 to 512. A position past the value's end throws `invalidOffset`.
    ///     Many peripherals reject offsets in a value that fits one packet (ATT error 0x0B).
    ///   - timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation timeout.
    public func readBytes(
        of key: CharacteristicKey, offset: Int = 0, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await central.read(key, of: id, offset: offset, timeout: timeout)
    }

    /// Writes a characteristic's value as bytes, or a part of it.
    ///
    /// - Parameters:
    ///   - type: with response by default, which returns when the peripheral has accepted the value. Without response,
    ///     a value that does not fit one packet throws `invalidLength`; see ``maximumWriteLength(for:)``.
    ///   - offset: the position of the first byte in the value, 0 to 512. Must be 0 without response.
    ///   - timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation timeout.
    public func writeBytes(
        _ value: [UInt8], to key: CharacteristicKey, type: WriteType = .withResponse, offset: Int = 0,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, offset: offset, timeout: timeout)
    }

    /// Writes a value. If `connecting` is false, throws `disconnected` if there is no link.
    package func writeBytes(
        _ value: [UInt8], to key: CharacteristicKey, type: WriteType, timeout: Duration?, connecting: Bool
    ) async throws(BLEError) {
        try await central.write(value, to: key, of: id, type: type, timeout: timeout, connecting: connecting)
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

extension CharacteristicKey {
    /// The characteristic, with its value as raw bytes.
    ///
    /// ```swift
    /// for characteristic in try await peripheral.services().flatMap(\.characteristics) {
    ///     let value = try await peripheral.read(characteristic.key.bytes)
    ///     print(characteristic.uuid, value)
    /// }
    /// ```
    public var bytes: Characteristic<[UInt8]> { Characteristic(self) }
}
