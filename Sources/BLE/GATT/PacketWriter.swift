internal import Synchronization

/// Writes values to a characteristic without response, as fast as the system takes them.
///
/// With BlueZ it has a socket of its own to bluetoothd (AcquireWrite), which spares the bus. It is closed with its last
/// reference, with ``close()`` and with the link. While it is open, BlueZ refuses other writes to the characteristic, with `busy`,
/// from whomever they come.
///
/// ```swift
/// let writer = try await peripheral.packetWriter(to: .samples)
/// for block in firmware.blocks(of: writer.maximumLength) { try await writer.write(block) }
/// ```
public final class PacketWriter<Value: Sendable>: Sendable {
    /// The longest value, in bytes.
    public var maximumLength: Int { core.channel.maximumLength }

    private let core: PacketWriterCore
    private let coding: ValueCoding<Value>

    init(core: PacketWriterCore, coding: ValueCoding<Value>) {
        self.core = core
        self.coding = coding
    }

    deinit { core.close() }

    /// Writes a value. Returns once the system has it: nobody confirms that the peripheral does.
    ///
    /// Waits while the system has no room. Values that one task writes arrive in their order.
    ///
    /// Throws `invalidLength` for a value that is longer than ``maximumLength``, `timedOut` when there is no room for so long,
    /// `disconnected` when the link has ended or the writer was closed.
    ///
    /// - Parameter timeout: the longest wait for room; nil for the configuration's operation timeout.
    public func write(_ value: Value, timeout: Duration? = nil) async throws(BLEError) {
        try await core.write(try coding.encode(value), timeout)
    }

    /// Ends it; others may write again. What has been written is sent all the same.
    public func close() { core.close() }
}

/// What a writer and its central share.
final class PacketWriterCore: Sendable {
    let channel: any PacketChannel
    private let target: Central.Target
    private let central: Central
    private let end = Mutex<BLEError?>(nil)

    init(channel: any PacketChannel, target: Central.Target, central: Central) {
        self.channel = channel
        self.target = target
        self.central = central
    }

    func write(_ packet: [UInt8], _ timeout: Duration?) async throws(BLEError) {
        do throws(BLEError) {
            if Task.isCancelled { throw .cancelled }
            guard packet.count <= channel.maximumLength else {
                throw BLEError(
                    .invalidLength,
                    "a write without response takes at most \(channel.maximumLength) bytes on this link, not "
                        + "\(packet.count)", isRetryable: false, remedy: "Write it in parts.")
            }
            while true {
                if let end = end.withLock({ $0 }) { throw end }
                if try channel.send(packet) { return }
                try await central.awaitRoom(channel, target, timeout)
            }
        } catch {
            // Why it has ended is told by who ended it.
            throw place(error.code == .disconnected ? end.withLock { $0 } ?? error : error)
        }
    }

    private func place(_ error: BLEError) -> BLEError {
        error.at(
            target.attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
    }

    /// Nothing is written any more.
    func finish(_ error: BLEError) {
        end.withLock { $0 = $0 ?? error }
        channel.close()
    }

    func close() {
        finish(BLEError(.disconnected, "the writer was closed", isRetryable: false))
        Task { await central.forget(self, target.attribute) }
    }
}

extension Central {
    func packetWriter(to key: AttributeKey, of id: Peripheral.ID, timeout: Duration?) async throws(BLEError)
        -> PacketWriterCore
    {
        let target = try await resolve(key, on: id)
        try require(.writeWithoutResponse, "writing without response", of: target)
        // After what is being written, and before what follows.
        let channel = try await operate(on: target, timeout: timeout, name: "opening a writer") {
            [weak self] (backend, attribute) throws(BLEError) in
            let channel = try await backend.acquireWriting(to: attribute)
            // Whoever has given up meanwhile closes nothing.
            guard !Task.isCancelled, self != nil else {
                channel.close()
                throw .cancelled
            }
            return channel
        }
        let core = PacketWriterCore(channel: channel, target: target, central: self)
        guard connectionState(id) == .connected, !isShutDown else {
            channel.close()
            throw BLEError(.disconnected, "the link ended")
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        writers[target.attribute] = core
        return core
    }

    func awaitRoom(_ channel: any PacketChannel, _ target: Target, _ timeout: Duration?) async throws(BLEError) {
        try await perform(
            on: target.attribute.peripheral, timeout: timeout ?? configuration.operationTimeout,
            name: "waiting for room"
        ) { (_) throws(BLEError) in try await channel.room() }
    }

    func forget(_ writer: PacketWriterCore, _ attribute: AttributeID) {
        if writers[attribute] === writer { writers[attribute] = nil }
    }

    /// Ends the writers of the attributes that match.
    func endWriters(_ error: BLEError, where matches: (AttributeID) -> Bool) {
        for (attribute, writer) in writers where matches(attribute) {
            writers[attribute] = nil
            writer.finish(error)
        }
    }
}

extension Peripheral {
    /// Opens a writer of values without response. There can be one for a characteristic at a time.
    ///
    /// Connects when there is no link. Throws `notSupported` for a characteristic that cannot be written without response, `busy`
    /// while another writer, of this or another program, is open.
    ///
    /// - Parameter timeout: the longest wait for the system's consent, once connected; nil for the configuration's.
    public func packetWriter<Value>(
        to characteristic: Characteristic<Value>, timeout: Duration? = nil
    ) async throws(BLEError) -> PacketWriter<Value> {
        let core = try await central.packetWriter(to: characteristic.key, of: id, timeout: timeout)
        return PacketWriter(core: core, coding: characteristic.coding)
    }
}
