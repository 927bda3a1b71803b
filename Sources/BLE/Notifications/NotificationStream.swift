/// The values of a characteristic as they arrive.
///
/// Iterating throws `invalidValue` for a value that cannot be decoded. Calling `next()` again continues with the value
/// after it.
///
/// On a maintained link (``ConnectionPolicy/maintained(backoff:)``), a stream survives the end of the link, of the
/// adapter and of Bluetooth itself, and continues when there is a link again. Values that the peripheral sent in the
/// meantime are lost; ``events`` shows where values may be missing.
public struct NotificationStream<Value: Sendable>: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = Value
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    private let packets: BoundedStream<NotificationPacket>
    private let decode: @Sendable ([UInt8]) throws(BLEError) -> Value
    private let stop: @Sendable () async -> Void

    init(
        packets: BoundedStream<NotificationPacket>, decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value,
        end: @escaping @Sendable () async -> Void = {}
    ) {
        self.packets = packets
        self.decode = decode
        stop = end
    }

    /// Ends the stream, also while another task reads it: the values that have arrived are read, and then the iteration
    /// ends.
    ///
    /// Returns when the peripheral was asked to stop sending, and has answered; at once if there are other readers of
    /// the characteristic. A cancelled task does not wait. Errors are in ``Central/unhandledErrors()``. Without this
    /// call, the same happens in the background when the stream is no longer read.
    public func end() async { await stop() }

    /// The number of values that the overflow policy has dropped so far.
    public var droppedCount: Int { packets.droppedCount }

    /// The same values, with a gap wherever values may be missing.
    ///
    /// This is another view of the same stream: an element that is read from one view is not delivered to the other.
    public var events: NotificationEvents<Value> { NotificationEvents(packets: packets, decode: decode) }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: packets.makeAsyncIterator(), decode: decode)
    }

    /// An iterator over the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: BoundedStream<NotificationPacket>.Iterator
        fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value
        /// The number of gaps skipped so far.
        public private(set) var gapCount = 0

        fileprivate init(
            base: BoundedStream<NotificationPacket>.Iterator,
            decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value
        ) {
            self.base = base
            self.decode = decode
        }

        /// Returns the next value, or nil at the end of the stream.
        public mutating func next() async throws(BLEError) -> Value? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, or nil at the end of the stream, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Value? {
            while true {
                var packet = base.nextOfBatch()
                if packet == nil { packet = try await base.next(isolation: actor) }
                switch packet {
                case .value(let bytes): return try decode(bytes)
                case .gap: gapCount += 1
                case nil: return nil
                }
            }
        }
    }
}

/// A value or a gap in a stream of notifications.
public enum NotificationEvent<Value: Sendable>: Sendable {
    /// A value.
    case value(Value)
    /// The link, or the delivery of notifications over it, ended for the given reason. Values follow when it is
    /// restored. Any values that were sent in between are lost.
    case gap(BLEError)
}

/// The values of a characteristic as they arrive, and the gaps between them; see ``NotificationStream/events``.
public struct NotificationEvents<Value: Sendable>: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = NotificationEvent<Value>
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let packets: BoundedStream<NotificationPacket>
    fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: packets.makeAsyncIterator(), decode: decode)
    }

    /// An iterator over values and gaps.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: BoundedStream<NotificationPacket>.Iterator
        fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

        /// Returns the next value or gap, or nil at the end of the stream.
        public mutating func next() async throws(BLEError) -> NotificationEvent<Value>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value or gap, or nil at the end of the stream, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> NotificationEvent<Value>? {
            switch try await base.next(isolation: actor) {
            case .value(let bytes): return .value(try decode(bytes))
            case .gap(let error): return .gap(error)
            case nil: return nil
            }
        }
    }
}
