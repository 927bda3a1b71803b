/// A handle for a remote device: its identity and the central that manages it.
///
/// Handles are small and can be copied freely. Two handles are equal if they have the same id. A handle does not keep a
/// link up, and stays valid across disconnections.
///
/// Operations connect if there is no link, within the central's connect timeout. The ``ConnectionPolicy`` determines
/// how long the link then stays: by default, until ``disconnect()`` or ``Central/shutDown()``.
public struct Peripheral: Sendable, Identifiable {
    /// The identity of a peripheral within its central. With BlueZ, it is the device address, such as
    /// `F0:F1:F2:F3:F4:F5`.
    public struct ID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let rawValue: String
        /// Creates an id from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The text.
        public var description: String { rawValue }
    }

    /// The identity.
    public let id: ID
    /// The central that manages the peripheral.
    public let central: Central

    init(id: ID, central: Central) {
        self.id = id
        self.central = central
    }
}

extension Peripheral: Hashable, CustomStringConvertible {
    /// Compares the ids.
    public static func == (left: Peripheral, right: Peripheral) -> Bool { left.id == right.id }
    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
    /// The id.
    public var description: String { id.rawValue }
}

// MARK: Connection

extension Peripheral {
    /// Connects and discovers the services. Returns immediately if the peripheral is already connected.
    ///
    /// Callers that connect at the same time share one attempt. Cancellation, or the deadline, ends this caller's wait.
    /// When no caller waits any longer, the attempt is cancelled, and no link remains, unless the link is maintained.
    ///
    /// - Parameter timeout: the maximum wait. Nil for the configuration's connect timeout.
    public func connect(timeout: Duration? = nil) async throws(BLEError) {
        try await central.connect(id, timeout: timeout)
    }

    /// Ends the link, or the attempt to connect, and returns when the link is down. Does nothing if there is neither.
    ///
    /// A link that other programs use stays up for them: one that existed before this central connected, or one on
    /// which they have subscribed. For this central, it has ended as well. See Docs/Security.md for what bluetoothd
    /// does not report.
    ///
    /// A maintained link is no longer maintained. Throws `disconnectionFailed` or `timedOut` if the system cannot end
    /// the link.
    public func disconnect() async throws(BLEError) {
        try await central.disconnect(id)
    }

    /// The state of the connection.
    public var connectionState: ConnectionState {
        get async { await central.connectionState(id) }
    }

    /// The connection's current state and every later change. Keeps the newest 16 unread states.
    public func connectionStates() async -> BoundedStream<ConnectionState> {
        await central.connectionStates(id)
    }

    /// Returns the services discovered on this connection, connecting if necessary.
    public func services() async throws(BLEError) -> GATTDatabase {
        try await central.services(id)
    }
}

// MARK: Values

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

    /// Writes a descriptor's value.
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
    /// Returns when the peripheral has agreed to send them. Any number of streams share one registration, which ends
    /// with the last of them. When the link ends, a stream throws `disconnected`, unless the link is maintained: then
    /// the stream continues on the next link; see ``NotificationStream``.
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
        let packets = try await central.subscribe(
            to: characteristic.key, of: id, delivery: delivery, overflow: overflow, timeout: timeout)
        return NotificationStream(packets: packets, decode: characteristic.decoder(for: id))
    }
}

extension Characteristic {
    func decode(_ bytes: [UInt8], from peripheral: Peripheral.ID) throws(BLEError) -> Value {
        try decoder(for: peripheral)(bytes)
    }

    /// Returns a decoder for values of the given peripheral. The decoder adds the location to its errors.
    func decoder(for peripheral: Peripheral.ID) -> @Sendable ([UInt8]) throws(BLEError) -> Value {
        let (decode, key) = (coding.decode, key)
        return { (bytes) throws(BLEError) in
            do throws(BLEError) {
                return try decode(bytes)
            } catch {
                throw error.at(peripheral, service: key.service, characteristic: key.characteristic)
            }
        }
    }
}
