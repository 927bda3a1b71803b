public import BLE

/// A record of a training, which a fitness machine sends about once a second, possibly in several parts.
///
/// A notification contains one part, and whether the record continues in the next notification. Machines split records
/// that are longer than a notification. ``FitnessRecordMerger`` merges the parts; ``FitnessRecordStream`` does this for
/// a stream.
public protocol FitnessMachineRecord: Hashable, ValueCodable {
    /// Creates an empty record.
    init()
    /// Whether the record continues in the next notification. Only the last part contains the first field.
    var hasMoreData: Bool { get set }
    /// Takes over the fields that a later part of the same record contains.
    mutating func merge(_ later: Self)
}

extension FitnessMachineRecord {
    /// True, since reserved flags may announce further fields (Fitness Machine Service 1.0, sections 4.4.1.1 to
    /// 4.9.1.1).
    public static var ignoresTrailingBytes: Bool { true }
}

/// The edition of the specification that defines the encoding of fields whose format was changed.
///
/// Most machines follow the first edition. Records do not contain the edition, but it can be determined from their
/// length.
public enum FitnessMachineEdition: String, Hashable, Codable, Sendable {
    /// Fitness Machine Service 1.0: a resistance level has two bytes, and the pace of a treadmill has one, in tenths of
    /// a kilometer per minute.
    case first
    /// The GATT Specification Supplement: a resistance level has one byte, and the pace of a treadmill has two, in
    /// seconds per 500 m.
    case current
}

/// Merges the parts of records.
///
/// ```swift
/// var merger = FitnessRecordMerger<IndoorBikeData>()
/// for part in parts {
///     if let record = merger.add(part) { print(record) }
/// }
/// ```
public struct FitnessRecordMerger<Record: FitnessMachineRecord>: Sendable {
    private var parts: Record?

    /// Creates a merger without parts.
    public init() {}

    /// Adds the next part, and returns the record if it is now complete.
    public mutating func add(_ part: Record) -> Record? {
        var record = parts ?? part
        if parts != nil { record.merge(part) }
        parts = record.hasMoreData ? record : nil
        return record.hasMoreData ? nil : record
    }

    /// Discards the parts of an incomplete record.
    public mutating func reset() { parts = nil }
}

/// A stream of the complete records of a fitness machine.
///
/// A part that cannot be decoded throws `invalidValue`; the next call of `next()` continues with the record after it.
/// An incomplete record is dropped if a gap in the link or the overflow policy loses parts of it. To receive the parts
/// themselves, use the characteristic's notifications.
public struct FitnessRecordStream<Record: FitnessMachineRecord>: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = Record
    /// The type of the errors that iterating throws.
    public typealias Failure = BLEError

    private let parts: NotificationStream<Record>

    /// Creates a stream of the records whose parts are in `parts`, which must have no other reader.
    public init(_ parts: NotificationStream<Record>) {
        self.parts = parts
    }

    /// The number of parts that the overflow policy has dropped so far.
    public var droppedCount: Int { parts.droppedCount }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: parts.events.makeAsyncIterator(), parts: parts)
    }

    /// An iterator over the records.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: NotificationEvents<Record>.Iterator
        private let parts: NotificationStream<Record>
        private var merger = FitnessRecordMerger<Record>()
        private var dropped = 0

        fileprivate init(base: NotificationEvents<Record>.Iterator, parts: NotificationStream<Record>) {
            self.base = base
            self.parts = parts
        }

        /// Returns the next record, or nil at the end.
        public mutating func next() async throws(BLEError) -> Record? {
            try await next(isolation: #isolation)
        }

        /// Returns the next record, or nil at the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Record? {
            while true {
                let event: NotificationEvent<Record>?
                do throws(BLEError) {
                    event = try await base.next(isolation: actor)
                } catch {
                    merger.reset()
                    throw error
                }
                // The dropped parts may belong before or after this one: they followed the parts that the stream holds.
                if parts.droppedCount > dropped {
                    dropped = parts.droppedCount
                    merger.reset()
                }
                switch event {
                case .value(let part): if let record = merger.add(part) { return record }
                case .gap: merger.reset()
                case nil: return nil
                }
            }
        }
    }
}
