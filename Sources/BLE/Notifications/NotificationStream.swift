/// The values of a characteristic as they arrive.
///
/// A value that its type cannot be made of throws `invalidValue`; calling `next()` again goes on with the value after it.
///
/// On a maintained link (``ConnectionPolicy/maintained(backoff:)``) a stream outlasts the end of the link, of the adapter and of
/// Bluetooth itself: it goes on once there is a link again. What the peripheral sent meanwhile is lost; ``events`` says where
/// that may have been.
public struct NotificationStream<Value: Sendable>: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = Value
    /// Why iterating can fail.
    public typealias Failure = BLEError

    private let packets: BoundedStream<NotificationPacket>
    private let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

    init(
        packets: BoundedStream<NotificationPacket>, decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value
    ) {
        self.packets = packets
        self.decode = decode
    }

    /// How many values the overflow policy has dropped so far.
    public var droppedCount: Int { packets.droppedCount }

    /// The same values, and between them where some may be missing. It is another view of the same stream: what is read from
    /// the one is gone from the other.
    public var events: NotificationEvents<Value> { NotificationEvents(packets: packets, decode: decode) }

    /// An iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: packets.makeAsyncIterator(), decode: decode)
    }

    /// Reads a stream of notifications.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: BoundedStream<NotificationPacket>.Iterator
        fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value
        /// How many gaps have been passed over so far.
        public private(set) var gapCount = 0

        fileprivate init(
            base: BoundedStream<NotificationPacket>.Iterator,
            decode: @escaping @Sendable ([UInt8]) throws(BLEError) -> Value
        ) {
            self.base = base
            self.decode = decode
        }

        /// The next value, nil after the end.
        public mutating func next() async throws(BLEError) -> Value? {
            try await next(isolation: #isolation)
        }

        /// The next value, nil after the end, without leaving the caller's actor.
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

/// What a stream of notifications brings, gaps included.
public enum NotificationEvent<Value: Sendable>: Sendable {
    /// A value.
    case value(Value)
    /// The link, or what delivers over it, has ended here for the reason given. Values follow once it is there again; others
    /// may have been sent in between and are lost.
    case gap(BLEError)
}

/// The values of a characteristic as they arrive, and the gaps between them; see ``NotificationStream/events``.
public struct NotificationEvents<Value: Sendable>: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = NotificationEvent<Value>
    /// Why iterating can fail.
    public typealias Failure = BLEError

    fileprivate let packets: BoundedStream<NotificationPacket>
    fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

    /// An iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: packets.makeAsyncIterator(), decode: decode)
    }

    /// Reads values and gaps.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: BoundedStream<NotificationPacket>.Iterator
        fileprivate let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

        /// The next value or gap, nil after the end.
        public mutating func next() async throws(BLEError) -> NotificationEvent<Value>? {
            try await next(isolation: #isolation)
        }

        /// The next value or gap, nil after the end, without leaving the caller's actor.
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
