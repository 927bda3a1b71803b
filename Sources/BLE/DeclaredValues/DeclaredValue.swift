/// A characteristic whose value is kept up to date while there is a link; see ``Peripheral/values(_:timeout:)``.
public struct DeclaredValue: Hashable, Sendable {
    /// The key that identifies the characteristic.
    public var key: CharacteristicKey
    /// Whether the value is read once on each link.
    public var isRead: Bool
    /// Whether notifications are switched on, on each link.
    public var isNotified: Bool

    /// Creates a declaration.
    public init(_ key: CharacteristicKey, isRead: Bool, isNotified: Bool) {
        self.key = key
        self.isRead = isRead
        self.isNotified = isNotified
    }

    /// A value that is read once on each link.
    public static func read<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: true, isNotified: false)
    }

    /// A value that is notified. It is unknown before the first notification on a link.
    public static func notify<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: false, isNotified: true)
    }

    /// A value that is read once on each link. Notifications are switched on before that, so that no change is missed.
    public static func readAndNotify<Value>(_ characteristic: Characteristic<Value>) -> DeclaredValue {
        DeclaredValue(characteristic.key, isRead: true, isNotified: true)
    }

    /// All readable characteristics of a peripheral, each with its exact key (``GATTCharacteristic/key``).
    static func allReadable(of database: GATTDatabase) -> [DeclaredValue] {
        database.flatMap { service in
            service.filter { $0.properties.contains(.read) }
                .map { DeclaredValue($0.key, isRead: true, isNotified: false) }
        }
    }
}

/// A change of a declared value.
public struct ValueChange<Value: Sendable>: Sendable {
    /// The previous value. Nil if it was not known.
    public let old: Value?
    /// The new value. Nil if it is no longer known, for example because the link has ended.
    public let new: Value?

    /// Creates a change.
    public init(old: Value?, new: Value?) {
        self.old = old
        self.new = new
    }
}

/// A change of any of the declared values; see ``PeripheralValues/changes(initial:)``.
public struct KeyedValueChange: Hashable, Sendable {
    /// The key that the value was declared with.
    public let key: CharacteristicKey
    /// The previous value. Nil if it was not known.
    public let old: [UInt8]?
    /// The new value. Nil if it is no longer known, for example because the link has ended.
    public let new: [UInt8]?

    /// Creates a change.
    public init(key: CharacteristicKey, old: [UInt8]?, new: [UInt8]?) {
        (self.key, self.old, self.new) = (key, old, new)
    }

    /// Returns the change with its type. Nil for a change of another characteristic. Throws `invalidValue`.
    public func change<Value>(of characteristic: Characteristic<Value>) throws(BLEError) -> ValueChange<Value>? {
        guard key == characteristic.key else { return nil }
        let value: Value? = if let new { try characteristic.coding.decode(new) } else { nil }
        let former: Value? = if let old { try? characteristic.coding.decode(old) } else { nil }
        return ValueChange(old: former, new: value)
    }
}

extension ValueChange: Equatable where Value: Equatable {}

/// The changes of one declared value; see ``PeripheralValues/changes(of:initial:)``.
///
/// Iterating throws `invalidValue` for a value that cannot be decoded. Calling `next()` again continues with the change
/// after it.
public struct ValueChanges<Value: Sendable>: AsyncSequence, Sendable {
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    let changes: BoundedStream<ValueChange<[UInt8]>>
    let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

    /// The number of changes that were dropped because the reader was too slow.
    public var droppedCount: Int { changes.droppedCount }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: changes.makeAsyncIterator(), decode: decode) }

    /// An iterator over the changes.
    public struct Iterator: AsyncIteratorProtocol {
        var base: BoundedStream<ValueChange<[UInt8]>>.Iterator
        let decode: @Sendable ([UInt8]) throws(BLEError) -> Value

        /// Returns the next change, or nil at the end of the stream.
        public mutating func next() async throws(BLEError) -> ValueChange<Value>? {
            try await next(isolation: #isolation)
        }

        /// Returns the next change, or nil at the end of the stream, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> ValueChange<Value>? {
            guard let change = try await base.next(isolation: actor) else { return nil }
            let new: Value? = if let bytes = change.new { try decode(bytes) } else { nil }
            // If the old value cannot be decoded, its error was thrown when it arrived.
            let old: Value? = if let bytes = change.old { try? decode(bytes) } else { nil }
            return ValueChange(old: old, new: new)
        }
    }
}
