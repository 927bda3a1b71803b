internal import Synchronization
internal import Waiting

/// A connection-oriented channel to another device, beside its attributes: packets in both directions, with flow control
/// by credits (an LE credit-based channel of the Logical Link Control and Adaptation Protocol).
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
    public let peer: Peripheral.ID
    /// The number under which it was opened.
    public let psm: PSM
    /// The maximum length of a packet that can be sent, in bytes: the MTU of the other side.
    public var maximumLength: Int { transport.maximumLength }
    /// The maximum length of a received packet, in bytes: the MTU of this side.
    public var maximumReceiveLength: Int { transport.maximumReceiveLength }

    private let transport: any ChannelTransport
    private let clock: any Clock<Duration>
    private let defaultTimeout: Duration
    private let stream: BoundedStream<[UInt8]>
    private let core: ChannelCore

    /// The number of received packets that wait for the reader. Further ones wait in the system, and then on the other
    /// side.
    static let capacity = 64

    /// Creates a channel over a transport that has not started yet.
    ///
    /// - Parameter onClose: called once, when the channel has ended.
    init(
        _ transport: any ChannelTransport, peer: Peripheral.ID, psm: PSM, clock: any Clock<Duration>,
        timeout: Duration, onClose: @escaping @Sendable (ChannelCore) -> Void
    ) {
        self.transport = transport
        self.peer = peer
        self.psm = psm
        self.clock = clock
        defaultTimeout = timeout
        let (stream, producer) = BoundedStream.make(
            of: [UInt8].self, policy: .fail(capacity: Self.capacity), onRoom: { transport.resume() })
        self.stream = stream
        core = ChannelCore(transport, producer, onClose)
    }

    /// Creates a channel that neither a central nor a host keeps account of.
    package convenience init(
        _ transport: any ChannelTransport, peer: Peripheral.ID, psm: PSM, clock: any Clock<Duration>, timeout: Duration
    ) {
        self.init(transport, peer: peer, psm: psm, clock: clock, timeout: timeout) { _ in }
    }

    deinit { core.finish(.closedHere) }

    /// Starts the transport. Called once, in the backend's isolation.
    package func start() {
        let (core, peer) = (core, peer)
        transport.start { packet in
            core.producer.offer(packet)
        } onEnd: { error in
            core.finish(error.map { .lost($0.at(peer)) } ?? .closedThere)
        }
    }

    // MARK: Receiving

    /// The received packets, in order, for one reader.
    ///
    /// A reader that is slow loses nothing: the other side waits. The sequence ends when either side closes the channel,
    /// after the packets that have arrived. If the link is lost, it throws `disconnected`. It keeps the channel open.
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
            Iterator(channel: channel, base: channel.stream.makeAsyncIterator())
        }

        /// An iterator over the received packets.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let channel: L2CAPChannel
            fileprivate var base: BoundedStream<[UInt8]>.Iterator

            /// Returns the next packet, or nil when the channel was closed.
            public mutating func next() async throws(BLEError) -> [UInt8]? {
                try await next(isolation: #isolation)
            }

            /// Returns the next packet, or nil when the channel was closed, without leaving the caller's actor.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> [UInt8]? {
                try await base.next(isolation: actor)
            }
        }
    }

    // MARK: Sending

    /// Sends a packet. Returns when the system has taken it; the other side does not confirm it.
    ///
    /// Waits while the other side gives no credits, or the system has no room. Packets that one task sends arrive in
    /// order.
    ///
    /// Throws `invalidLength` for an empty packet and for one that is longer than ``maximumLength``, `timedOut` if there
    /// is no room within the timeout, and `disconnected` if the channel has ended.
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
        while true {
            if Task.isCancelled { throw BLEError.cancelled.at(peer) }
            if let end = core.end { throw end.error.at(peer) }
            do throws(BLEError) {
                if try transport.send(packet) { return }
                try await room(timeout ?? defaultTimeout)
            } catch {
                // The error that ended the channel is more specific than the transport's.
                throw (error.code == .disconnected ? core.end?.error ?? error : error).at(peer)
            }
        }
    }

    private func room(_ timeout: Duration) async throws(BLEError) {
        let outcome = Outcome<Void>()
        let deadline = outcome.expire(after: timeout, clock: clock) {
            BLEError(.timedOut, "the other side has taken no packet for \(timeout)")
        }
        defer { deadline.cancel() }
        let transport = transport
        try await outcome.race { () throws(BLEError) in try await transport.waitForRoom() }
    }

    // MARK: Closing

    /// Closes the channel. Packets that wait for credits of the other side are dropped. Packets that have arrived can
    /// still be read.
    public func close() { core.finish(.closedHere) }

    /// Whether the channel has ended.
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
    let producer: BoundedStream<[UInt8]>.Producer
    private let state: Mutex<State>

    private struct State {
        var end: ChannelEnd?
        var onClose: (@Sendable (ChannelCore) -> Void)?
    }

    init(
        _ transport: any ChannelTransport, _ producer: BoundedStream<[UInt8]>.Producer,
        _ onClose: @escaping @Sendable (ChannelCore) -> Void
    ) {
        self.transport = transport
        self.producer = producer
        state = Mutex(State(onClose: onClose))
    }

    var end: ChannelEnd? { state.withLock { $0.end } }

    /// Ends the channel, once. That it was lost is told in the backend's isolation.
    func finish(_ end: ChannelEnd) {
        if case .lost = end, self.end == nil { transport.drain() }
        let onClose = state.withLock { state in
            guard state.end == nil else { return nil as (@Sendable (ChannelCore) -> Void)? }
            state.end = end
            defer { state.onClose = nil }
            return state.onClose
        }
        guard let onClose else { return }
        transport.close()
        if case .lost(let error) = end { producer.finish(throwing: error) } else { producer.finish() }
        onClose(self)
    }
}
