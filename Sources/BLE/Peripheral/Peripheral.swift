/// A handle on a remote device: its identity and the central that talks to it.
///
/// Small and copied freely; two handles are equal when they have the same id. A handle does not keep a link up, and stays
/// valid across disconnections.
///
/// Operations connect when there is no link, within the central's connect timeout. How long the link then stays is said by
/// the ``ConnectionPolicy``; by default until ``disconnect()`` or ``Central/shutDown()``.
public struct Peripheral: Sendable, Identifiable {
    /// What identifies a peripheral to its central. With BlueZ the device address, such as `F0:F1:F2:F3:F4:F5`.
    public struct ID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The text.
        public let rawValue: String
        /// Any text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The text.
        public var description: String { rawValue }
    }

    /// The identity.
    public let id: ID
    /// The central that talks to it.
    public let central: Central

    init(id: ID, central: Central) {
        self.id = id
        self.central = central
    }
}

extension Peripheral: Hashable, CustomStringConvertible {
    /// Equal ids.
    public static func == (left: Peripheral, right: Peripheral) -> Bool { left.id == right.id }
    /// By id.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
    /// The id.
    public var description: String { id.rawValue }
}

// MARK: Connection

extension Peripheral {
    /// Makes the link and discovers the services. Returns at once when that is done already.
    ///
    /// Callers that connect at the same time share one attempt. Cancelling, or the deadline, gives up this caller's wait;
    /// when nobody waits any more the attempt is ended, and no link stays behind.
    ///
    /// - Parameter timeout: the longest wait; nil for the configuration's connect timeout.
    public func connect(timeout: Duration? = nil) async throws(BLEError) {
        try await central.connect(id, timeout: timeout)
    }

    /// Ends the link, or the attempt to make one, and returns once it is down. No error when there is none.
    ///
    /// A link that other programs use is left to them: one that was there before this central connected, and one on which they have
    /// subscribed. For this central it has ended, too. See Docs/Security.md for what bluetoothd does not tell.
    ///
    /// Ends the upkeep of a maintained link, too. Throws `disconnectionFailed` and `timedOut` when the system cannot end it.
    public func disconnect() async throws(BLEError) {
        try await central.disconnect(id)
    }

    /// Whether there is a usable link.
    public var connectionState: ConnectionState {
        get async { await central.connectionState(id) }
    }

    /// The connection's state now and every change from here on. Keeps the newest 16 that are not read yet.
    public func connectionStates() async -> BoundedStream<ConnectionState> {
        await central.connectionStates(id)
    }

    /// The services, as they were discovered on this connection.
    public func services() async throws(BLEError) -> GATTDatabase {
        try await central.services(id)
    }
}

// MARK: Values

extension Peripheral {
    /// Reads a characteristic's value.
    ///
    /// - Parameter timeout: the longest wait for the answer, once connected; nil for the configuration's.
    public func read<Value>(
        _ characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> Value {
        let bytes = try await central.read(characteristic.key, of: id, timeout: timeout)
        return try characteristic.decode(bytes, from: id)
    }

    /// Writes a characteristic's value.
    ///
    /// - Parameters:
    ///   - type: with response by default, which returns once the peripheral has taken the value.
    ///   - timeout: the longest wait for the answer, once connected; nil for the configuration's.
    public func write<Value>(
        _ value: Value, to characteristic: Characteristic<Value>, type: WriteType = .withResponse,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        let bytes = try characteristic.coding.encode(value)
        try await central.write(bytes, to: characteristic.key, of: id, type: type, timeout: timeout)
    }

    /// A descriptor's value.
    ///
    /// - Parameter handle: which descriptor, where the characteristic has several of that type; nil for the first.
    public func readDescriptor(
        _ descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: AttributeKey, timeout: Duration? = nil
    ) async throws(BLEError) -> [UInt8] {
        try await central.readDescriptor(descriptor, handle: handle, of: characteristic, on: id, timeout: timeout)
    }

    /// Writes a descriptor's value.
    ///
    /// - Parameter handle: which descriptor, where the characteristic has several of that type; nil for the first.
    public func writeDescriptor(
        _ value: [UInt8], to descriptor: BluetoothUUID, handle: UInt16? = nil, of characteristic: AttributeKey,
        timeout: Duration? = nil
    ) async throws(BLEError) {
        try await central.writeDescriptor(
            value, to: descriptor, handle: handle, of: characteristic, on: id, timeout: timeout)
    }

    /// The values that the peripheral notifies or indicates from now on, in order.
    ///
    /// Returns once the peripheral sends them. Any number of streams share one registration, which ends with the last of them.
    /// When the link ends, a stream throws `disconnected`, unless the link is maintained: then the stream goes on with the next
    /// link; see ``NotificationStream``.
    ///
    /// - Parameters:
    ///   - delivery: how the values come; see ``NotificationDelivery``.
    ///   - overflow: what happens when the reader is slower than the peripheral: by default the newest 256 values are kept.
    ///   - timeout: the longest wait for the peripheral's consent, once connected; nil for the configuration's.
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

    /// Decodes values of that peripheral; what it throws says where they came from.
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
