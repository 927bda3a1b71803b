/// Access to the service's values by key and as bytes, and to the descriptors of its characteristics.
extension PeripheralService {
    // MARK: Bytes

    /// Reads a characteristic's value as bytes, or its end.
    ///
    /// - Parameter offset: the position of the first byte, 0 to 512.
    public func readBytes(
        of key: CharacteristicKey, offset: Int = 0, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await peripheral.readBytes(of: own(key), offset: offset, timeout: timeout)
    }

    /// Writes a characteristic's value as bytes, or a part of it.
    ///
    /// - Parameter offset: the position of the first byte in the value, 0 to 512. Must be 0 without response.
    public func writeBytes(
        _ value: [UInt8], to key: CharacteristicKey, type: WriteType = .withResponse, offset: Int = 0,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await peripheral.writeBytes(value, to: own(key), type: type, offset: offset, timeout: timeout)
    }

    // MARK: Descriptors

    /// Reads a descriptor's value.
    ///
    /// - Parameter handle: identifies the descriptor if the characteristic has several of that type. Nil for the first.
    public func readDescriptor(
        _ descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: CharacteristicKey,
        timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await peripheral.readDescriptor(descriptor, handle: handle, of: own(characteristic), timeout: timeout)
    }

    /// Writes a descriptor's value. Throws `notSupported` for the client characteristic configuration (0x2902), which
    /// subscriptions write.
    ///
    /// - Parameter handle: identifies the descriptor if the characteristic has several of that type. Nil for the first.
    public func writeDescriptor(
        _ value: [UInt8], to descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: CharacteristicKey,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await peripheral.writeDescriptor(
            value, to: descriptor, handle: handle, of: own(characteristic), timeout: timeout)
    }

    /// Reads the user-readable name of the characteristic (Characteristic User Description, 0x2901). Nil if it has
    /// none.
    public func userDescription(
        of characteristic: CharacteristicKey, timeout: Duration? = nil
    ) async throws(BLEError) -> String? {
        try await peripheral.userDescription(of: own(characteristic), timeout: timeout)
    }

    /// Reads the presentation format of the characteristic's value (Characteristic Presentation Format, 0x2904). Nil if
    /// it has none.
    public func presentationFormat(
        of characteristic: CharacteristicKey, timeout: Duration? = nil
    ) async throws(BLEError) -> PresentationFormat? {
        try await peripheral.presentationFormat(of: own(characteristic), timeout: timeout)
    }
}
