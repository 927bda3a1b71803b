internal import Synchronization

/// A number at which a host accepts channels, and the channels that centrals have opened.
///
/// ```swift
/// let listener = try await host.publishChannel()
/// for try await channel in listener { print("\(channel.peer) has opened a channel") }
/// ```
///
/// Channels are accepted until ``close()``, the release of the last reference, or the host's shutdown. A restart of
/// bluetoothd does not end it.
public final class ChannelListener: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = L2CAPChannel
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    /// The number at which the host accepts channels.
    public let psm: PSM
    private let queue: ChannelQueue
    private let onClose: @Sendable () -> Void

    init(psm: PSM, _ queue: ChannelQueue, onClose: @escaping @Sendable () -> Void) {
        self.psm = psm
        self.queue = queue
        self.onClose = onClose
    }

    deinit { close() }

    /// Stops accepting channels, and closes those that nobody has taken. The others stay open.
    public func close() {
        queue.finish()
        onClose()
    }

    /// Creates an iterator, which keeps the listener from being released. It is meant for one reader. Throws `shutDown`
    /// with the host.
    public func makeAsyncIterator() -> Iterator {
        Iterator(listener: self, arrivals: queue.arrivals.makeAsyncIterator())
    }

    /// An iterator over the channels that centrals open.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let listener: ChannelListener
        fileprivate var arrivals: BoundedStream<Void>.Iterator

        /// Returns the next channel, or nil when the listener was closed.
        public mutating func next() async throws(BLEError) -> L2CAPChannel? { try await next(isolation: #isolation) }

        /// Returns the next channel, or nil when the listener was closed, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> L2CAPChannel? {
            while try await arrivals.next(isolation: actor) != nil {
                if let channel = listener.queue.take() { return channel }
            }
            return nil
        }
    }
}

/// The channels that wait to be taken by the reader of a listener.
///
/// They are not the elements of the stream, because a reader's iterator takes several elements at once, and these have not
/// been taken yet.
final class ChannelQueue: Sendable {
    /// An element for each channel that has arrived.
    let arrivals: BoundedStream<Void>
    private let producer: BoundedStream<Void>.Producer
    private let waiting = Mutex<[L2CAPChannel]>([])

    /// The number of channels that wait to be taken. Further ones are closed at once.
    static let capacity = 16

    init() {
        (arrivals, producer) = BoundedStream.make(of: Void.self, policy: .dropNewest(capacity: Self.capacity))
    }

    func add(_ channel: L2CAPChannel) {
        let hasRoom = waiting.withLock { waiting in
            guard waiting.count < Self.capacity else { return false }
            waiting.append(channel)
            return true
        }
        if hasRoom { producer.yield(()) } else { channel.close() }
    }

    func take() -> L2CAPChannel? { waiting.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    /// Ends the reader's wait, and closes the channels that wait.
    func finish(throwing error: BLEError? = nil) {
        producer.finish(throwing: error)
        let left = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for channel in left { channel.close() }
    }
}
