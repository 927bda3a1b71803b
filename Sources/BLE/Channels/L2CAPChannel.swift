internal import Synchronization
internal import Waiting

/// A connection-oriented channel to another device, beside its attributes: packets in both directions, with flow
/// control by credits (an LE credit-based channel of the Logical Link Control and Adaptation Protocol).
///
/// ```swift
/// let channel = try await peripheral.openChannel(0x0080)
/// try await channel.send(Array("list".utf8))
/// for try await packet in channel.packets { print(packet) }
/// ```
///
/// The channel is closed by ``close()``, with the release of its last reference, by the other side, and with the link.
public final class L2CAPChannel: Sendable {
    /// The device on the other side.
    public let peer: DeviceID
    /// The number under which it was opened.
    public let psm: PSM
    /// The maximum length of a packet that can be sent, in bytes: the MTU of the other side.
    public var maximumLength: Int { transport.maximumLength }
    /// The maximum length of a received packet, in bytes: the MTU of this side.
    public var maximumReceiveLength: Int { transport.maximumReceiveLength }

    private let transport: any ChannelTransport
    /// The clock of its central or host, on which it waits.
    package let clock: any Clock<Duration>
    private let defaultTimeout: Duration
    private let core: ChannelCore

    /// The number of received packets that wait for the reader. Further ones wait in the system, and then on the other
    /// side.
    static let capacity = 64

    /// Creates a channel over a transport that has not started yet.
    ///
    /// - Parameter onClose: called once, when the channel has ended.
    init(
        _ transport: any ChannelTransport, peer: DeviceID, psm: PSM, clock: any Clock<Duration>,
        timeout: Duration, onClose: @escaping @Sendable (ChannelCore) -> Void
    ) {
        self.transport = transport
        self.peer = peer
        self.psm = psm
        self.clock = clock
        defaultTimeout = timeout
        core = ChannelCore(transport, SharedQueue(capacity: Self.capacity) { transport.resume() }, onClose)
    }

    /// Creates a channel that neither a central nor a host keeps account of.
    package convenience init(
        _ transport: any ChannelTransport, peer: DeviceID, psm: PSM, clock: any Clock<Duration>, timeout: Duration
    ) {
        self.init(transport, peer: peer, psm: psm, clock: clock, timeout: timeout) { _ in }
    }

    deinit { core.finish(.closedHere) }

    /// Starts the transport. Called once, in the backend's isolation.
    package func start() {
        let (core, peer) = (core, peer)
        transport.start { packet in
            core.packets.offer(packet) ?? true
        } onEnd: { error in
            core.finish(error.map { .lost($0.at(peer)) } ?? .closedThere)
        }
    }

    // MARK: Receiving

    /// The received packets, in order.
    ///
    /// A reader that is slow loses nothing: the other side waits. A reader that stops leaves the next packets to the
    /// next one; several readers at a time divide them. The sequence ends when either side closes the channel, after
    /// the packets that have arrived. If the link is lost, it throws `disconnected`. It keeps the channel open.
    public var packets: Packets { Packets(channel: self) }

    /// The received packets of a channel.
    public struct Packets: AsyncSequence, Sendable {
        /// The type of element produced by the sequence.
        public typealias Element = [UInt8]
        /// The type of error that iteration throws.
        public typealias Failure = BLEError

        fileprivate let channel: L2CAPChannel

        /// Creates an iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(channel: channel)
        }

        /// An iterator over the received packets.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let channel: L2CAPChannel

            /// Returns the next packet, or nil when the channel was closed.
            public mutating func next() async throws(BLEError) -> [UInt8]? {
                try await next(isolation: #isolation)
            }

            /// Returns the next packet, or nil when the channel was closed, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> [UInt8]? {
                try await channel.core.packets.next(isolation: actor)
            }
        }
    }

    /// Waits for the next packet. Nil when the channel was closed.
    ///
    /// Throws `timedOut` if none arrives in time, and `disconnected` if the link is lost. A packet that arrives later
    /// is the next one.
    ///
    /// - Parameter timeout: the maximum wait.
    public func receive(timeout: Duration) async throws(BLEError) -> [UInt8]? {
        let limit = SharedDeadline(timeout, clock: clock) {
            BLEError(.timedOut, "no packet has arrived for \(timeout)")
        }
        defer { limit.end() }
        do throws(BLEError) {
            return try await core.packets.next(isolation: #isolation, until: limit)
        } catch {
            throw error.at(peer)
        }
    }

    // MARK: Sending

    /// Sends a packet. Returns when the system has taken it; the other side does not confirm it.
    ///
    /// Waits while the other side gives no credits, or the system has no room. Packets that one task sends arrive in
    /// order.
    ///
    /// Throws `invalidLength` for an empty packet and for one that is longer than ``maximumLength``, `timedOut` if
    /// there is no room within the timeout, and `disconnected` if the channel has ended.
    ///
    /// - Parameter timeout: the maximum wait for room. Nil for the operation timeout of the central's configuration, or
    ///   the confirmation timeout of the host's.
    public func send(_ packet: [UInt8], timeout: Duration? = nil) async throws(BLEError) {
        guard 1...maximumLength ~= packet.count else {
            throw BLEError(
                .invalidLength, "the channel takes packets of 1 to \(maximumLength) bytes, not \(packet.count)",
                isRetryable: false, remedy: "Split the data."
            )
            .at(peer)
        }
        if try attempt(packet) { return }
        try await sendWithRoom(packet, timeout ?? defaultTimeout)
    }

    /// Sends a packet if there is room.
    private func attempt(_ packet: [UInt8]) throws(BLEError) -> Bool {
        if Task.isCancelled { throw BLEError.cancelled.at(peer) }
        if let end = core.end { throw end.error.at(peer) }
        do throws(BLEError) {
            return try transport.send(packet)
        } catch {
            throw specific(error)
        }
    }

    /// Waits for room as often as it takes, with one deadline.
    private func sendWithRoom(_ packet: [UInt8], _ timeout: Duration) async throws(BLEError) {
        let limit = SharedDeadline(timeout, clock: clock) {
            BLEError(.timedOut, "the other side has not taken the packet for \(timeout)")
        }
        defer { limit.end() }
        repeat {
            do throws(BLEError) {
                let transport = transport
                try await limit.race { () throws(BLEError) in try await transport.waitForRoom() }
            } catch {
                throw specific(error)
            }
        } while try !attempt(packet)
    }

    /// The number of times that ``waitUntilSent(timeout:)`` sees a packet waiting before it takes it to be stuck: at
    /// least a second, in which a link with credits would have taken it.
    private static let patience = 500

    /// Returns when no packet waits in this system anymore: the controller has all that were sent. Also returns if the
    /// channel ends soon after the last was sent, because the system does not tell then whether it has left.
    ///
    /// Throws `disconnected` if the channel ends when a packet has waited for more than a second, and `timedOut` if the
    /// other side gives no credits within the timeout.
    package func waitUntilSent(timeout: Duration? = nil) async throws(BLEError) {
        let timeout = timeout ?? defaultTimeout
        let limit = SharedDeadline(timeout, clock: clock) {
            BLEError(.timedOut, "the other side has not taken the packet for \(timeout)")
        }
        defer { limit.end() }
        var waits = 0
        while true {
            do throws(BLEError) {
                guard try transport.hasUnsentPackets() else { return }
                if let end = core.end { throw end.error }
                let clock = clock
                // The system does not tell when the last has left. An event of the link takes longer than this.
                try await limit.race { () throws(BLEError) in
                    guard (try? await clock.sleep(for: .milliseconds(2))) != nil else { throw .cancelled }
                }
                waits += 1
            } catch {
                if core.end != nil || error.code == .disconnected, waits < Self.patience { return }
                throw specific(error)
            }
        }
    }

    /// The error that ended the channel is more specific than the transport's.
    private func specific(_ error: BLEError) -> BLEError {
        (error.code == .disconnected ? core.end?.error ?? error : error).at(peer)
    }

    // MARK: Closing

    /// Closes the channel. Packets that wait for credits of the other side are dropped; to be sure, let the other side
    /// close it. Packets that this process has received can still be read.
    public func close() { core.finish(.closedHere) }

    /// Whether the channel has ended. While received packets wait for a reader, the other side's end may not be known
    /// yet.
    public var isClosed: Bool { core.end != nil }

    /// Identifies the channel to the central or the host, which does not retain it.
    var handle: ChannelCore { core }
}

/// How a channel has ended.
enum ChannelEnd: Sendable {
    case closedHere
    case closedThere
    case lost(BLEError)

    /// What later attempts to send throw.
    var error: BLEError {
        switch self {
        case .closedHere: BLEError(.disconnected, "the channel was closed", isRetryable: false)
        case .closedThere: BLEError(.disconnected, "the other side has closed the channel", isRetryable: false)
        case .lost(let error): error
        }
    }
}

/// What a channel shares with its central or host, and with its transport.
final class ChannelCore: Sendable {
    let transport: any ChannelTransport
    let packets: SharedQueue<[UInt8]>
    private let state: Mutex<State>

    private struct State {
        var end: ChannelEnd?
        var onClose: (@Sendable (ChannelCore) -> Void)?
    }

    init(
        _ transport: any ChannelTransport, _ packets: SharedQueue<[UInt8]>,
        _ onClose: @escaping @Sendable (ChannelCore) -> Void
    ) {
        self.transport = transport
        self.packets = packets
        state = Mutex(State(onClose: onClose))
    }

    var end: ChannelEnd? { state.withLock { $0.end } }

    /// Ends the channel, once.
    ///
    /// - Parameter drains: whether to take what has arrived for a lost channel, which is done in the backend's
    ///   isolation.
    func finish(_ end: ChannelEnd, drains: Bool = true) {
        if case .lost = end, drains, self.end == nil { transport.drain() }
        let onClose = state.withLock { state in
            guard state.end == nil else { return nil as (@Sendable (ChannelCore) -> Void)? }
            state.end = end
            defer { state.onClose = nil }
            return state.onClose
        }
        guard let onClose else { return }
        transport.close()
        if case .lost(let error) = end { packets.finish(throwing: error) } else { packets.finish() }
        onClose(self)
    }
}
