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
    private let queue: SharedQueue<L2CAPChannel>
    private let onClose: Mutex<(@Sendable () -> Void)?>

    /// The number of channels that wait to be taken. Further ones are closed at once.
    static let capacity = 16

    init(psm: PSM, _ queue: SharedQueue<L2CAPChannel>, onClose: @escaping @Sendable () -> Void) {
        self.psm = psm
        self.queue = queue
        self.onClose = Mutex(onClose)
    }

    deinit { close() }

    /// Stops accepting channels, and closes those that nobody has taken. The others stay open.
    public func close() {
        queue.finish()
        for channel in queue.takeAll() { channel.close() }
        let onClose = onClose.withLock { onClose in
            defer { onClose = nil }
            return onClose
        }
        onClose?()
    }

    /// Creates an iterator, which keeps the listener from being released. Several readers divide the channels. Throws
    /// `shutDown` with the host, and what ended the accepting.
    public func makeAsyncIterator() -> Iterator { Iterator(listener: self) }

    /// An iterator over the channels that centrals open.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let listener: ChannelListener

        /// Returns the next channel, or nil when the listener was closed.
        public mutating func next() async throws(BLEError) -> L2CAPChannel? { try await next(isolation: #isolation) }

        /// Returns the next channel, or nil when the listener was closed, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> L2CAPChannel? {
            try await listener.queue.next(isolation: actor)
        }
    }
}
