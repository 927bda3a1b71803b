internal import BLE

/// The streams of a session's unsolicited messages and of its problems.
struct TransactionListeners<Reply: Sendable> {
    private struct Listener {
        let matches: @Sendable (Reply) -> Bool
        let producer: BoundedStream<Reply>.Producer
    }

    private var listeners: [Int: Listener] = [:]
    private var observers: [Int: BoundedStream<BLEError>.Producer] = [:]

    mutating func add(
        _ token: Int, _ producer: BoundedStream<Reply>.Producer, _ matches: @escaping @Sendable (Reply) -> Bool
    ) {
        listeners[token] = Listener(matches: matches, producer: producer)
    }

    mutating func observe(_ token: Int, _ producer: BoundedStream<BLEError>.Producer) {
        observers[token] = producer
    }

    mutating func remove(_ token: Int) {
        listeners[token] = nil
        observers[token] = nil
    }

    func tell(_ reply: Reply) {
        for listener in listeners.values where listener.matches(reply) { listener.producer.yield(reply) }
    }

    func tell(_ problem: BLEError) {
        for observer in observers.values { observer.yield(problem) }
    }

    /// Ends all streams. The streams of messages throw the error.
    mutating func end(_ error: BLEError) {
        for listener in listeners.values { listener.producer.finish(throwing: error) }
        for observer in observers.values { observer.finish() }
        (listeners, observers) = ([:], [:])
    }
}
