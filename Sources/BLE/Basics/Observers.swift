/// The readers of a stream of events, each with a buffer of its own.
package struct Observers<Element: Sendable> {
    private var producers: [Int: BoundedStream<Element>.Producer] = [:]
    private var lastToken = 0

    package init() {}

    package var isEmpty: Bool { producers.isEmpty }

    /// Adds a reader that keeps the newest `capacity` unread elements.
    ///
    /// - Parameters:
    ///   - first: an element for this reader alone, before all others.
    ///   - left: called with the reader's token when the reader has ended.
    package mutating func add(
        capacity: Int, first: Element? = nil, _ left: @escaping @Sendable (_ token: Int) -> Void
    ) -> BoundedStream<Element> {
        lastToken += 1
        let token = lastToken
        let (stream, producer) = BoundedStream.make(of: Element.self, policy: .dropOldest(capacity: capacity)) {
            left(token)
        }
        producers[token] = producer
        if let first { producer.yield(first) }
        return stream
    }

    package mutating func remove(_ token: Int) { producers[token] = nil }

    package func yield(_ element: Element) {
        for producer in producers.values { producer.yield(element) }
    }

    /// Ends all streams, by throwing `error` if there is one. Later readers are added as usual.
    package mutating func finish(_ error: BLEError? = nil) {
        let ended = producers
        producers = [:]
        for producer in ended.values { producer.finish(throwing: error) }
    }

    /// A stream that has already ended.
    package static func ended(_ error: BLEError? = nil) -> BoundedStream<Element> {
        let (stream, producer) = BoundedStream.make(of: Element.self, policy: .dropOldest(capacity: 1)) {}
        producer.finish(throwing: error)
        return stream
    }
}
