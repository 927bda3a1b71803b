public import BLE

/// Makes measurements whole that come in two parts (Body Composition Service 1.0, section 3.2.2): two values that both say so, which
/// share the fat, the time and the user, and of which each has some of the rest.
public struct BodyCompositionMerger: Sendable {
    /// The part whose other half has not come yet.
    public private(set) var pending: BodyCompositionMeasurement?

    /// Nothing has come yet.
    public init() {}

    /// Takes the next value, and returns what is whole with it.
    ///
    /// A part whose other half is not what comes next is returned as it was, before that.
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

    /// Gives up waiting, and returns the part that waits.
    public mutating func flush() -> BodyCompositionMeasurement? { pending.take() }

    /// One measurement of two parts; nil when they contradict each other.
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

/// Measurements as they arrive, whole.
///
/// A value that cannot be decoded throws `invalidValue`; calling `next()` again goes on with the value after it. A part whose other half
/// is lost comes as it is, with ``BodyCompositionMeasurement/isPart``.
public struct BodyCompositionMeasurements: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = BodyCompositionMeasurement
    /// Why iterating can fail.
    public typealias Failure = BLEError

    private let parts: NotificationStream<BodyCompositionMeasurement>

    init(_ parts: NotificationStream<BodyCompositionMeasurement>) {
        self.parts = parts
    }

    /// An iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(base: parts.events.makeAsyncIterator()) }

    /// Reads measurements.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: NotificationEvents<BodyCompositionMeasurement>.Iterator
        private var merger = BodyCompositionMerger()
        private var waiting: [BodyCompositionMeasurement] = []

        fileprivate init(base: NotificationEvents<BodyCompositionMeasurement>.Iterator) {
            self.base = base
        }

        /// The next measurement, nil after the end.
        public mutating func next() async throws(BLEError) -> BodyCompositionMeasurement? {
            try await next(isolation: #isolation)
        }

        /// The next measurement, nil after the end, without leaving the caller's actor.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(BLEError) -> BodyCompositionMeasurement? {
            while waiting.isEmpty {
                switch try await base.next(isolation: actor) {
                case .value(let part): waiting = merger.add(part)
                case .gap: waiting = merger.flush().map { [$0] } ?? []
                case nil: return merger.flush()
                }
            }
            return waiting.removeFirst()
        }
    }
}
