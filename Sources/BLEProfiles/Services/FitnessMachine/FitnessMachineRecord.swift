public import BLE

/// What a fitness machine sends once a second: a record of a training, which may come in several parts.
///
/// A notification holds a part, and says whether the rest of the record comes with the next. Machines do so when a record is longer than a
/// notification. ``FitnessRecordMerger`` makes one of the parts, and ``FitnessRecordStream`` does so of a stream.
public protocol FitnessMachineRecord: Hashable, ValueCodable {
    /// A record without anything.
    init()
    /// Whether the rest of the record comes with the next notification. The last part has the first of the fields, and no other has it.
    var hasMoreData: Bool { get set }
    /// Takes over all that a later part of the same record has.
    mutating func merge(_ later: Self)
}

extension FitnessMachineRecord {
    /// True: reserved flags may announce more one day (Fitness Machine Service 1.0, sections 4.4.1.1 to 4.9.1.1).
    public static var ignoresFurtherBytes: Bool { true }
}

/// After which edition of the specification a fitness machine spells a field whose format has been changed.
///
/// Most machines follow the first. Records do not say which it is; their lengths do.
public enum FitnessMachineEdition: Hashable, Sendable {
    /// Fitness Machine Service 1.0: a resistance level has two bytes and the pace of a treadmill has one, in tenths of a kilometre per
    /// minute.
    case first
    /// The GATT Specification Supplement: a resistance level has one byte and the pace of a treadmill has two, in seconds per 500 m.
    case current
}

/// Makes whole records of their parts.
///
/// ```swift
/// var merger = FitnessRecordMerger<IndoorBikeData>()
/// for part in parts {
///     if let record = merger.add(part) { print(record) }
/// }
/// ```
public struct FitnessRecordMerger<Record: FitnessMachineRecord>: Sendable {
    private var parts: Record?

    /// Without any parts.
    public init() {}

    /// Adds the part that came next, and returns the record if it is whole now.
    public mutating func add(_ part: Record) -> Record? {
        var record = parts ?? part
        if parts != nil { record.merge(part) }
        parts = record.hasMoreData ? record : nil
        return record.hasMoreData ? nil : record
    }

    /// Forgets the parts of a record whose other parts are lost.
    public mutating func reset() { parts = nil }
}

/// The whole records that a fitness machine notifies.
///
/// A part that cannot be decoded throws `invalidValue`; calling `next()` again goes on with the record after it. The parts of a record
/// that a gap of the link cuts, or that the overflow policy drops others of, are dropped. For the parts as they came, read the characteristic's notifications.
public struct FitnessRecordStream<Record: FitnessMachineRecord>: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = Record
    /// Why iterating can fail.
    public typealias Failure = BLEError

    private let parts: NotificationStream<Record>

    /// The records whose parts are in `parts`, of which nobody else reads.
    public init(_ parts: NotificationStream<Record>) {
        self.parts = parts
    }

    /// How many parts the overflow policy has dropped so far.
    public var droppedCount: Int { parts.droppedCount }

    /// An iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: parts.events.makeAsyncIterator(), parts: parts)
    }

    /// Reads records.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: NotificationEvents<Record>.Iterator
        private let parts: NotificationStream<Record>
        private var merger = FitnessRecordMerger<Record>()
        private var dropped = 0

        fileprivate init(base: NotificationEvents<Record>.Iterator, parts: NotificationStream<Record>) {
            self.base = base
            self.parts = parts
        }

        /// The next record, nil after the end.
        public mutating func next() async throws(BLEError) -> Record? {
            try await next(isolation: #isolation)
        }

        /// The next record, nil after the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Record? {
            while true {
                let event: NotificationEvent<Record>?
                do throws(BLEError) {
                    event = try await base.next(isolation: actor)
                } catch {
                    merger.reset()
                    throw error
                }
                // What was dropped came after the parts that are held, before or behind this one.
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
