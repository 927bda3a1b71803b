internal import Synchronization

/// Writes values to a characteristic without response, as fast as the system takes them.
///
/// With BlueZ, a writer has its own socket to bluetoothd (AcquireWrite), which bypasses the bus. The socket is closed
/// when the last reference to the writer is released, by ``close()``, and when the link ends. While it is open, BlueZ
/// rejects all other writes to the characteristic with `busy`, including those of other programs.
///
/// ```swift
/// let writer = try await peripheral.packetWriter(to: .samples)
/// for block in firmware.blocks(of: writer.maximumLength) { try await writer.write(block) }
/// ```
public final class PacketWriter<Value: Sendable>: Sendable {
    /// The maximum length of a value, in bytes.
    public var maximumLength: Int { core.channel.maximumLength }

    private let core: PacketWriterCore
    private let coding: ValueCoding<Value>

    init(core: PacketWriterCore, coding: ValueCoding<Value>) {
        self.core = core
        self.coding = coding
    }

    deinit { core.close() }

    /// Writes a value. Returns when the system has accepted it; the peripheral does not confirm it.
    ///
    /// Waits while the system has no room. Values that one task writes arrive in order.
    ///
    /// Throws `invalidLength` for a value that is longer than ``maximumLength``, `timedOut` if there is no room within
    /// the timeout, and `disconnected` if the link has ended or the writer was closed.
    ///
    /// - Parameter timeout: the maximum wait for room. Nil for the configuration's operation timeout.
    public func write(_ value: Value, timeout: Duration? = nil) async throws(BLEError) {
        try await core.write(try coding.encode(value), timeout)
    }

    /// Closes the writer and allows other writes again. Values that were already written are still sent.
    public func close() { core.close() }
}

/// The state shared by a writer and its central.
final class PacketWriterCore: Sendable {
    let channel: any PacketSink
    private let target: Central.Target
    private let central: Central
    private let end = Mutex<BLEError?>(nil)

    init(channel: any PacketSink, target: Central.Target, central: Central) {
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
                        + "\(packet.count)", isRetryable: false, remedy: "Split the value.")
            }
            while true {
                if let end = end.withLock({ $0 }) { throw end }
                if try channel.send(packet) { return }
                try await central.awaitRoom(channel, target, timeout)
            }
        } catch {
            // The error that ended the writer is more specific than the channel's.
            throw place(error.code == .disconnected ? end.withLock { $0 } ?? error : error)
        }
    }

    private func place(_ error: BLEError) -> BLEError {
        error.at(
            target.attribute.peripheral, service: target.service.uuid, characteristic: target.characteristic.uuid)
    }

    /// Ends the channel. Later writes throw `error`.
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
    func packetWriter(to key: CharacteristicKey, of id: Peripheral.ID, timeout: Duration?) async throws(BLEError)
        -> PacketWriterCore
    {
        let target = try await resolve(key, on: id)
        try require(.writeWithoutResponse, "writing without response", of: target)
        let channel: any PacketSink
        do throws(BLEError) {
            channel = try await openChannel(to: target, timeout: timeout)
        } catch {
            throw error.at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        let core = PacketWriterCore(channel: channel, target: target, central: self)
        guard connectionState(id) == .connected, !isShutDown else {
            channel.close()
            throw BLEError(.disconnected, "the link ended")
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        links[id]?.add(core, to: target.attribute)
        return core
    }

    /// Opens a channel for writes: after pending writes, and before later ones.
    private func openChannel(to target: Target, timeout: Duration?) async throws(BLEError) -> any PacketSink {
        try checkRunning()
        return try await perform(
            on: target.attribute.peripheral, timeout: timeout ?? configuration.operationTimeout,
            name: "opening a writer", about: target.characteristic.uuid, using: .value(target.attribute)
        ) { [weak self] (backend) throws(BLEError) in
            let channel = try await backend.acquireWriting(to: target.attribute)
            // A caller that has given up cannot close the channel.
            guard !Task.isCancelled, self != nil else {
                channel.close()
                throw .cancelled
            }
            return channel
        }
    }

    func awaitRoom(_ channel: any PacketSink, _ target: Target, _ timeout: Duration?) async throws(BLEError) {
        try await perform(
            on: target.attribute.peripheral, timeout: timeout ?? configuration.operationTimeout,
            name: "waiting for the system to accept a packet"
        ) { (_) throws(BLEError) in try await channel.waitForRoom() }
    }

    func forget(_ writer: PacketWriterCore, _ attribute: AttributeID) {
        links[attribute.peripheral]?.remove(writer, of: attribute)
        considerIdle(attribute.peripheral)
        removeLinkIfUnused(attribute.peripheral)
    }
}
