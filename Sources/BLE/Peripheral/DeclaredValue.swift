/// A characteristic whose value shall be known as long as there is a link; see ``Peripheral/values(_:timeout:)``.
public struct DeclaredValue: Hashable, Sendable {
    /// Which characteristic.
    public var key: AttributeKey
    /// It is read once on each link.
    public var isRead: Bool
    /// Its notifications are on, on each link.
    public var isNotified: Bool

    /// Any declaration.
    public init(_ key: AttributeKey, isRead: Bool, isNotified: Bool) {
        self.key = key
        self.isRead = isRead
        self.isNotified = isNotified
    }

    /// Read once on each link.
    public static func read<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: true, isNotified: false)
    }

    /// Notified; nothing is known before the first notification of a link.
    public static func notify<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: false, isNotified: true)
    }

    /// Read once on each link, and notified from before that on, so that no change is missed.
    public static func readAndNotify<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: true, isNotified: true)
    }

    /// Everything that a peripheral lets be read, each under its exact key (``GATTCharacteristic/key``).
    static func everyReadable(of database: GATTDatabase) -> [DeclaredValue] {
        database.flatMap { service in
            service.filter { $0.properties.contains(.read) }
                .map { DeclaredValue($0.key, isRead: true, isNotified: false) }
        }
    }
}

/// A change of a declared value.
public struct ValueChange<Value: Sendable>: Sendable {
    /// The value before; nil when it was not known.
    public let old: Value?
    /// The value now; nil when the link has ended.
    public let new: Value?

    /// A change.
    public init(old: Value?, new: Value?) {
        self.old = old
        self.new = new
    }
}

extension ValueChange: Equatable where Value: Equatable {}

/// The changes of one declared value; see ``PeripheralValues/changes(of:initial:)``.
///
/// A value that its type cannot be made of throws `invalidValue`; calling `next()` again goes on with the change after it.
public struct ValueChanges<Value: Sendable>: AsyncSequence, Sendable {
    /// Why iterating can fail.
    public typealias Failure = BLEError

    let changes: BoundedStream<ValueChange<[UInt8]>>
    let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

    /// How many changes were dropped because the reader was too slow.
    public var droppedCount: Int { changes.droppedCount }

    /// An iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: changes.makeAsyncIterator(), decode: decode) }

    /// Reads changes.
    public struct Iterator: AsyncIteratorProtocol {
        var base: BoundedStream<ValueChange<[UInt8]>>.Iterator
        let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

        /// The next change, nil after the end.
        public mutating func next() async throws(BLEError) -> ValueChange<Value>? {
            try await next(isolation: #isolation)
        }

        /// The next change, nil after the end, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> ValueChange<Value>? {
            guard let change = try await base.next(isolation: actor) else { return nil }
            let new: Value? = if let bytes = change.new { try decode(bytes) } else { nil }
            // An old value that could not be decoded has thrown in its time.
            let old: Value? = if let bytes = change.old { try? decode(bytes) } else { nil }
            return ValueChange(old: old, new: new)
        }
    }
}
