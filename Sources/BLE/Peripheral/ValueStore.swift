internal import Synchronization

/// What is known of a peripheral's declared values, and who waits for news of them.
final class ValueStore: Sendable {
    private struct State {
        var values: [AttributeKey: [UInt8]] = [:]
        var failures: [AttributeKey: BLEError] = [:]
        /// How many notifications have set a value: what was read before the newest is older.
        var notified: [AttributeKey: Int] = [:]
        /// Who reads the notifications of a key.
        var readers: [AttributeKey: Int] = [:]
        var isReady = false
        var end: BLEError?
        var waiters: [Int: Outcome<Void>] = [:]
        var observers: [Int: (key: AttributeKey, producer: BoundedStream<ValueChange<[UInt8]>>.Producer)] = [:]
        var lastToken = 0

        mutating func token() -> Int {
            lastToken += 1
            return lastToken
        }

        mutating func set(_ value: [UInt8]?, for key: AttributeKey) {
            let old = values[key]
            values[key] = value
            guard value != nil || old != nil else { return }
            for observer in observers.values where observer.key == key {
                observer.producer.yield(ValueChange(old: old, new: value))
            }
        }
    }

    private let state = Mutex(State())

    var isReady: Bool { state.withLock { $0.isReady } }
    var failures: [AttributeKey: BLEError] { state.withLock { $0.failures } }

    func value(_ key: AttributeKey) -> [UInt8]? {
        state.withLock { $0.values[key] }
    }

    // MARK: News

    func notified(_ value: [UInt8], for key: AttributeKey, _ reader: Int) {
        state.withLock { state in
            guard state.readers[key] == reader else { return }
            state.notified[key, default: 0] += 1
            state.set(value, for: key)
        }
    }

    /// How many notifications there have been; see ``read(_:for:since:)``.
    func notifications(of key: AttributeKey) -> Int {
        state.withLock { $0.notified[key] ?? 0 }
    }

    /// A value was read that was asked for when there had been so many notifications.
    func read(_ value: [UInt8], for key: AttributeKey, since notifications: Int) {
        state.withLock { state in
            guard state.notified[key] ?? 0 == notifications else { return }
            state.set(value, for: key)
        }
    }

    func failed(_ error: BLEError, for key: AttributeKey) {
        state.withLock { $0.failures[key] = error }
    }

    func forget(_ key: AttributeKey) {
        state.withLock { $0.set(nil, for: key) }
    }

    /// A number for who is to be the key's reader of notifications; nil when there is one.
    func becomeReader(of key: AttributeKey) -> Int? {
        state.withLock { state in
            guard state.readers[key] == nil else { return nil }
            let reader = state.token()
            state.readers[key] = reader
            return reader
        }
    }

    /// The reader has come to its end, which may be heard of when there is another already.
    func stopReading(_ key: AttributeKey, _ reader: Int) {
        state.withLock { state in
            guard state.readers[key] == reader else { return }
            state.readers[key] = nil
            state.set(nil, for: key)
        }
    }

    /// The link has ended: readers whose streams end with it make room for those of the next.
    func releaseReaders() {
        state.withLock { $0.readers = [:] }
    }

    /// The values cannot be had on this link.
    func fail(_ error: BLEError) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
    }

    // MARK: Ready

    /// A link is being made ready: what failed on the last one is forgotten.
    func begin() {
        state.withLock { state in
            state.isReady = false
            state.failures = [:]
        }
    }

    func becomeReady() {
        let waiters = state.withLock { state in
            state.isReady = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.deliver(.success(())) }
    }

    /// The link has ended. Who waits goes on waiting when another will be made.
    func linkEnded(_ error: BLEError, isMaintained: Bool) {
        let waiters = state.withLock { state in
            state.isReady = false
            for key in state.values.keys { state.set(nil, for: key) }
            defer { if !isMaintained { state.waiters = [:] } }
            return isMaintained ? [:] : state.waiters
        }
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
    }

    /// Nothing follows: the values are unknown, the streams end.
    func finish(_ error: BLEError) {
        let (waiters, observers) = state.withLock { state in
            state.isReady = false
            state.end = error
            state.values = [:]
            defer {
                state.waiters = [:]
                state.observers = [:]
            }
            return (state.waiters, state.observers)
        }
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
        for observer in observers.values { observer.producer.finish(throwing: error) }
    }

    func untilReady() async throws(BLEError) {
        let outcome = Outcome<Void>()
        let token = state.withLock { state in
            let token = state.token()
            if let end = state.end {
                outcome.deliver(.failure(end))
            } else if state.isReady {
                outcome.deliver(.success(()))
            } else {
                state.waiters[token] = outcome
            }
            return token
        }
        defer { state.withLock { $0.waiters[token] = nil } }
        try await outcome.wait()
    }

    // MARK: Changes

    func changes(of key: AttributeKey, initial: Bool) -> BoundedStream<ValueChange<[UInt8]>> {
        let token = state.withLock { $0.token() }
        let (stream, producer) = BoundedStream.make(
            of: ValueChange<[UInt8]>.self, policy: .dropOldest(capacity: 64)
        ) { [weak self] in
            self?.state.withLock { $0.observers[token] = nil }
        }
        let end: BLEError? = state.withLock { state in
            if let end = state.end { return end }
            state.observers[token] = (key, producer)
            if initial, let value = state.values[key] { producer.yield(ValueChange(old: nil, new: value)) }
            return nil
        }
        // Not under the lock: what ends a stream calls back.
        if let end { producer.finish(throwing: end) }
        return stream
    }
}
