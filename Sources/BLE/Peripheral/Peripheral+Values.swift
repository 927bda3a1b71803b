/// Reading, writing and subscribing.
extension Peripheral {
    /// Reads a characteristic's value.
    ///
    /// - Parameter timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation
    ///   timeout.
    public func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value {
        let bytes = try await central.read(characteristic.key, of: id, timeout: timeout)
        return try characteristic.decode(bytes, from: id)
    }

    /// Reads a value that the peripheral may not have. Nil if it has no such characteristic, or if it cannot be read.
    ///
    /// - Parameter timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation
    ///   timeout.
    public func readIfPresent<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value? {
        let database = try await services()
        guard let found = try? database.find(characteristic.key), found.characteristic.properties.contains(.read) else {
            return nil
        }
        return try await read(characteristic, timeout: timeout)
    }

    /// Writes a characteristic's value.
    ///
    /// - Parameters:
    ///   - type: with response by default, which returns when the peripheral has accepted the value.
    ///   - timeout: the maximum wait for the answer, once connected. Nil for the configuration's operation timeout.
    public func write<Value>(
        _ value: Value, to characteristic: Characteristic<Value>, type: WriteType = .withResponse,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        let bytes = try characteristic.coding.encode(value)
        try await central.write(bytes, to: characteristic.key, of: id, type: type, timeout: timeout)
    }

    /// Reads a descriptor's value.
    ///
    /// - Parameter handle: identifies the descriptor if the characteristic has several of that type. Nil for the first.
    public func readDescriptor(
        _ descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: CharacteristicKey,
        timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await central.readDescriptor(descriptor, handle: handle, of: characteristic, on: id, timeout: timeout)
    }

    /// Writes a descriptor's value. Throws `notSupported` for the client characteristic configuration (0x2902), which
    /// subscriptions write.
    ///
    /// - Parameter handle: identifies the descriptor if the characteristic has several of that type. Nil for the first.
    public func writeDescriptor(
        _ value: [UInt8], to descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: CharacteristicKey,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await central.writeDescriptor(
            value, to: descriptor, handle: handle, of: characteristic, on: id, timeout: timeout)
    }

    /// Subscribes to the values that the peripheral notifies or indicates from now on, in order.
    ///
    /// Returns when the peripheral has agreed to send them. On a maintained link, that may take any time: the call
    /// waits for the peripheral, the adapter and Bluetooth itself; ``connectionEvents()`` says for which. Any number of
    /// streams share one registration, which ends with the last of them. When the link ends, a stream throws
    /// `disconnected`, unless the link is maintained: then the stream continues on the next link; see
    /// ``NotificationStream``.
    ///
    /// - Parameters:
    ///   - delivery: how the values reach this process; see ``NotificationDelivery``.
    ///   - overflow: how the stream handles values if the reader is slower than the peripheral. By default, the newest
    ///     256 values are kept.
    ///   - timeout: the maximum wait for the peripheral's consent, once connected. Nil for the configuration's
    ///     operation timeout.
    public func notifications<Value>(
        _ characteristic: Characteristic<Value>, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy = .dropOldest(capacity: 256), timeout: Duration? = nil
    ) async throws(BLEError) -> NotificationStream<Value> {
        let subscribed = try await central.subscribePatiently(
            to: characteristic.key, of: id, delivery: delivery, overflow: overflow, timeout: timeout)
        return NotificationStream(
            packets: subscribed.packets, decode: characteristic.decoder(for: id), end: subscribed.end)
    }

    // MARK: Declared values

    /// Connects and keeps the declared values up to date from now on. Returns when the peripheral is ready.
    ///
    /// A characteristic that is missing, or that rejects an operation, does not affect the others; see
    /// ``PeripheralValues/failures``.
    ///
    /// - Parameter timeout: the maximum time for connecting and becoming ready. Nil for the configuration's connect
    ///   timeout or, on a maintained link, for no limit.
    public func values(_ declared: [DeclaredValue], timeout: Duration? = nil) async throws -> PeripheralValues {
        let values = await PeripheralValues(of: self, declared: declared)
        try await values.waitUntilReady(timeout: timeout)
        return values
    }

    /// Connects and reads all readable values, on this and on every later link. Returns when the peripheral is ready.
    ///
    /// The values are stored under their exact keys, ``GATTCharacteristic/key``.
    public func readableValues(timeout: Duration? = nil) async throws -> PeripheralValues {
        let values = await PeripheralValues(of: self, declared: nil)
        try await values.waitUntilReady(timeout: timeout)
        return values
    }
}
