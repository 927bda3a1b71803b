internal import Synchronization
internal import Waiting

/// The known values of a peripheral's declared characteristics, their observers, and the callers that wait until the
/// peripheral is ready.
final class ValueStore: Sendable {
    /// A reader of changes.
    private struct Observer: Sendable {
        /// The key of the observed value. Nil for all values.
        let key: CharacteristicKey?
        let yield: @Sendable (CharacteristicKey, ValueChange<[UInt8]>) -> Void
        let finish: @Sendable (BLEError) -> Void
    }

    private struct State {
        var values: [CharacteristicKey: [UInt8]] = [:]
        var failures: [CharacteristicKey: BLEError] = [:]
        /// The number of notifications received for each key. A read that began before the latest one is outdated.
        var notified: [CharacteristicKey: Int] = [:]
        /// The number of links that have ended. A read that began before the end of the latest one is outdated, too.
        var endedLinks = 0
        /// The number of each key's notification reader.
        var readers: [CharacteristicKey: Int] = [:]
        /// The keys whose notifications are interrupted by the end of a link, and whose gap has not been reported yet.
        var interrupted: Set<CharacteristicKey> = []
        /// The keys whose gap was reported before the end of the link.
        var announced: Set<CharacteristicKey> = []
        /// The keys whose values a gap has erased since the current link began to be made ready.
        var erased: Set<CharacteristicKey> = []
        /// The number of the link that was made ready last, or is being made ready.
        var link: Int?
        /// Whether the end of a link is yet to come.
        var hasLink = false
        var isReady = false
        /// The reason why the values are not available on this link.
        var failure: BLEError?
        var end: BLEError?
        /// The callers that wait until a link is ready, each with the number of the first link that is enough.
        var waiters: [Int: (link: Int?, outcome: Outcome<Void>)] = [:]
        var observers: [Int: Observer] = [:]
        var lastToken = 0

        func revision(of key: CharacteristicKey) -> Int { (notified[key] ?? 0) + endedLinks }

        mutating func token() -> Int {
            lastToken += 1
            return lastToken
        }

        /// Removes and returns the callers that wait for a link with at most that number, or for any. Nil for all.
        mutating func takeWaiters(through last: Int?) -> [Outcome<Void>] {
            let taken = waiters.filter { _, waiter in
                guard let last, let first = waiter.link else { return true }
                return first <= last
            }
            for token in taken.keys { waiters[token] = nil }
            return taken.values.map(\.outcome)
        }

        /// Does nothing after the end.
        mutating func set(_ value: [UInt8]?, for key: CharacteristicKey) {
            guard end == nil else { return }
            let old = values[key]
            values[key] = value
            guard value != nil || old != nil else { return }
            for observer in observers.values where observer.key == nil || observer.key == key {
                observer.yield(key, ValueChange(old: old, new: value))
            }
        }
    }

    private let state = Mutex(State())

    var isReady: Bool { state.withLock { $0.isReady } }
    var hasEnded: Bool { state.withLock { $0.end != nil } }
    var failures: [CharacteristicKey: BLEError] { state.withLock { $0.failures } }
    /// The number of callers that wait until a link is ready.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    func value(_ key: CharacteristicKey) -> [UInt8]? {
        state.withLock { $0.values[key] }
    }

    // MARK: Updates

    func notified(_ value: [UInt8], for key: CharacteristicKey, _ reader: Int) {
        state.withLock { state in
            guard state.readers[key] == reader else { return }
            state.notified[key, default: 0] += 1
            state.interrupted.remove(key)
            state.set(value, for: key)
        }
    }

    /// A number that increases with each notification and at the end of a link; see ``read(_:for:since:)``.
    func revision(of key: CharacteristicKey) -> Int {
        state.withLock { $0.revision(of: key) }
    }

    /// Stores a value that was read, unless another notification has arrived since the read began, or the link has
    /// ended. The same value again is not a change.
    func read(_ value: [UInt8], for key: CharacteristicKey, since revision: Int) {
        state.withLock { state in
            guard state.revision(of: key) == revision else { return }
            state.erased.remove(key)
            if state.values[key] != value { state.set(value, for: key) }
        }
    }

    func failed(_ error: BLEError, for key: CharacteristicKey) {
        state.withLock { $0.failures[key] = error }
    }

    /// Handles a gap in a key's notifications, and returns whether the value is no longer known. If the gap is that of
    /// an ended link, the value is forgotten with all others (``linkEnded(_:failingThrough:)``), and a present one
    /// belongs to the next link.
    func gap(in key: CharacteristicKey, isConnected: Bool) -> Bool {
        state.withLock { state in
            if state.interrupted.remove(key) != nil { return false }
            guard isConnected else {
                state.announced.insert(key)
                return false
            }
            state.set(nil, for: key)
            if !state.isReady { state.erased.insert(key) }
            return true
        }
    }

    /// Registers a reader of the key's notifications and returns its number. Nil if there is a reader already.
    func becomeReader(of key: CharacteristicKey) -> Int? {
        state.withLock { state in
            guard state.readers[key] == nil else { return nil }
            let reader = state.token()
            state.readers[key] = reader
            return reader
        }
    }

    /// Removes a reader that has ended, unless another has already replaced it. Without notifications, the value is no
    /// longer known.
    func stopReading(_ key: CharacteristicKey, _ reader: Int, forgetting: Bool = true) {
        state.withLock { state in
            guard state.readers[key] == reader else { return }
            state.readers[key] = nil
            if forgetting { state.set(nil, for: key) }
        }
    }

    /// Removes all readers when the link ends, because their streams end with it and the next link has readers of its
    /// own.
    func releaseReaders() {
        state.withLock { state in
            state.readers = [:]
            state.interrupted = []
        }
    }

    /// Fails the waiting callers: the values are not available on this link.
    func fail(_ error: BLEError) {
        let waiters = state.withLock { state in
            state.failure = error
            return state.takeWaiters(through: state.link)
        }
        for waiter in waiters { waiter.deliver(.failure(error)) }
    }

    /// Fails the waiting callers: no other link follows.
    func endWaits(_ error: BLEError) {
        for waiter in state.withLock({ $0.takeWaiters(through: nil) }) { waiter.deliver(.failure(error)) }
    }

    // MARK: Ready

    /// Starts to make a link ready, and forgets the failures of the last one.
    func begin(_ link: Int? = nil) {
        state.withLock { state in
            state.link = link
            state.isReady = false
            state.failure = nil
            state.failures = [:]
            state.announced = []
            state.erased = []
            state.hasLink = true
        }
    }

    /// Becomes ready, unless a gap has erased one of the values that were read: returns one that must be read again.
    @discardableResult func becomeReady(having keys: [CharacteristicKey] = []) -> CharacteristicKey? {
        let (erased, waiters): (CharacteristicKey?, [Outcome<Void>]) = state.withLock { state in
            guard state.end == nil else { return (nil, []) }
            if let key = keys.first(where: state.erased.contains) {
                state.erased.remove(key)
                return (key, [])
            }
            state.isReady = true
            return (nil, state.takeWaiters(through: state.link))
        }
        for waiter in waiters { waiter.deliver(.success(())) }
        return erased
    }

    /// Handles the end of the link.
    ///
    /// - Parameter last: the number of the last link so far: the callers that wait for it, or for an earlier one, fail.
    ///   Nil if they keep waiting, because another link follows.
    func linkEnded(_ error: BLEError, failingThrough last: Int? = nil) {
        let waiters = state.withLock { state in
            state.isReady = false
            state.failure = nil
            state.endedLinks += 1
            for key in state.values.keys { state.set(nil, for: key) }
            if state.hasLink {
                state.interrupted = Set(state.readers.keys).subtracting(state.announced)
                state.announced = []
                state.hasLink = false
            }
            return last.map { state.takeWaiters(through: $0) } ?? []
        }
        for waiter in waiters { waiter.deliver(.failure(error)) }
    }

    /// Ends the store: the values become unknown, and the streams end.
    func finish(_ error: BLEError) {
        let (waiters, observers) = state.withLock { state in
            state.isReady = false
            state.end = error
            state.values = [:]
            defer { state.observers = [:] }
            return (state.takeWaiters(through: nil), state.observers)
        }
        for waiter in waiters { waiter.deliver(.failure(error)) }
        for observer in observers.values { observer.finish(error) }
    }

    /// A wait for the values to be ready.
    struct ReadyWait {
        fileprivate let token: Int
        fileprivate let outcome: Outcome<Void>
    }

    /// Returns when the values are ready.
    func untilReady() async throws(BLEError) { try await untilReady(beginWait(on: nil)) }

    func untilReady(_ wait: ReadyWait) async throws(BLEError) {
        defer { state.withLock { $0.waiters[wait.token] = nil } }
        try await wait.outcome.wait()
    }

    /// Begins a wait, which the end of the link ends from now on.
    ///
    /// - Parameter link: the number of the link that is up. Values of an earlier one are not enough. Nil for any.
    func beginWait(on link: Int?) -> ReadyWait {
        let outcome = Outcome<Void>()
        let token = state.withLock { state in
            let token = state.token()
            if let end = state.end {
                outcome.deliver(.failure(end))
            } else if let link, state.link.map({ $0 < link }) ?? true {
                state.waiters[token] = (link, outcome)
            } else if state.isReady {
                outcome.deliver(.success(()))
            } else if let failure = state.failure {
                outcome.deliver(.failure(failure))
            } else {
                state.waiters[token] = (link, outcome)
            }
            return token
        }
        return ReadyWait(token: token, outcome: outcome)
    }

    // MARK: Changes

    func changes(of key: CharacteristicKey, initial: Bool) -> BoundedStream<ValueChange<[UInt8]>> {
        observe(key, initial: initial) { $1 }
    }

    func changes(initial: Bool) -> BoundedStream<KeyedValueChange> {
        observe(nil, initial: initial) { KeyedValueChange(key: $0, old: $1.old, new: $1.new) }
    }

    private func observe<Element: Sendable>(
        _ key: CharacteristicKey?, initial: Bool,
        _ element: @escaping @Sendable (CharacteristicKey, ValueChange<[UInt8]>) -> Element
    ) -> BoundedStream<Element> {
        let token = state.withLock { $0.token() }
        let (stream, producer) = BoundedStream.make(of: Element.self, policy: .dropOldest(capacity: 64)) {
            [weak self] in
            self?.state.withLock { $0.observers[token] = nil }
        }
        let observer = Observer(
            key: key, yield: { producer.yield(element($0, $1)) }, finish: { producer.finish(throwing: $0) })
        let end: BLEError? = state.withLock { state in
            if let end = state.end { return end }
            state.observers[token] = observer
            guard initial else { return nil }
            for (known, value) in state.values where key == nil || key == known {
                producer.yield(element(known, ValueChange(old: nil, new: value)))
            }
            return nil
        }
        // Called after the lock is released, because ending a stream calls back.
        if let end { producer.finish(throwing: end) }
        return stream
    }
}
