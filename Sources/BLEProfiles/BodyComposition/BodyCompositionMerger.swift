public import BLE

/// Merges measurements that are sent in two parts (Body Composition Service 1.0, section 3.2.2).
///
/// Both parts are marked as such. They have the same body fat, time and user, and each has some of the other fields.
public struct BodyCompositionMerger: Sendable {
    /// The first part of a measurement whose second part has not arrived yet.
    public private(set) var pending: BodyCompositionMeasurement?

    /// Creates a merger.
    public init() {}

    /// Adds the next value, and returns the measurements that are now complete.
    ///
    /// If the next value does not complete a pending part, the part is returned unchanged, before that value.
    public mutating func add(_ measurement: BodyCompositionMeasurement) -> [BodyCompositionMeasurement] {
        let first = pending.take()
        guard measurement.isPart else { return [first, measurement].compactMap(\.self) }
        guard let first else {
            pending = measurement
            return []
        }
        if let whole = Self.merged(first, measurement) { return [whole] }
        pending = measurement
        return [first]
    }

    /// Stops waiting for the second part, and returns the first.
    public mutating func flush() -> BodyCompositionMeasurement? { pending.take() }

    /// Returns the merged measurement. Nil if the parts contradict each other.
    private static func merged(
        _ first: BodyCompositionMeasurement, _ second: BodyCompositionMeasurement
    ) -> BodyCompositionMeasurement? {
        func agree<Value: Equatable>(_ path: KeyPath<BodyCompositionMeasurement, Value?>) -> Bool {
            first[keyPath: path] == nil || second[keyPath: path] == nil || first[keyPath: path] == second[keyPath: path]
        }
        guard
            first.units == second.units, agree(\.bodyFatPercent), agree(\.timeStamp), agree(\.user),
            agree(\.basalMetabolismKilojoules), BodyCompositionMeasurement.fields.allSatisfy({ agree($0.path) })
        else { return nil }
        var whole = first
        whole.isPart = false
        whole.bodyFatPercent = first.bodyFatPercent ?? second.bodyFatPercent
        whole.timeStamp = first.timeStamp ?? second.timeStamp
        whole.user = first.user ?? second.user
        whole.basalMetabolismKilojoules = first.basalMetabolismKilojoules ?? second.basalMetabolismKilojoules
        for field in BodyCompositionMeasurement.fields {
            whole[keyPath: field.path] = first[keyPath: field.path] ?? second[keyPath: field.path]
        }
        return whole
    }
}

/// A sequence of merged measurements.
///
/// A value that cannot be decoded throws `invalidValue`; the next call of `next()` continues after it. A part whose
/// other part is lost is returned unchanged, with ``BodyCompositionMeasurement/isPart``.
public struct BodyCompositionMeasurements: AsyncSequence, Sendable {
    /// The type of the elements.
    public typealias Element = BodyCompositionMeasurement
    /// The type of the errors that iterating throws.
    public typealias Failure = BLEError

    private let parts: NotificationStream<BodyCompositionMeasurement>

    init(_ parts: NotificationStream<BodyCompositionMeasurement>) {
        self.parts = parts
    }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: parts.events.makeAsyncIterator()) }

    /// An iterator over the measurements.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: NotificationEvents<BodyCompositionMeasurement>.Iterator
        private var merger = BodyCompositionMerger()
        private var waiting: [BodyCompositionMeasurement] = []
        /// The error to throw after an incomplete part was returned.
        private var failure: BLEError?

        fileprivate init(base: NotificationEvents<BodyCompositionMeasurement>.Iterator) {
            self.base = base
        }

        /// Returns the next measurement, or nil at the end.
        public mutating func next() async throws(BLEError) -> BodyCompositionMeasurement? {
            try await next(isolation: #isolation)
        }

        /// Returns the next measurement, or nil at the end, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> BodyCompositionMeasurement? {
            while waiting.isEmpty {
                if let failure = failure.take() { throw failure }
                do throws(BLEError) {
                    switch try await base.next(isolation: actor) {
                    case .value(let part): waiting = merger.add(part)
                    case .gap: waiting = merger.flush().map { [$0] } ?? []
                    case nil: return merger.flush()
                    }
                } catch {
                    guard let part = merger.flush() else { throw error }
                    (waiting, failure) = ([part], error)
                }
            }
            return waiting.removeFirst()
        }
    }
}
