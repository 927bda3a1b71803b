internal import Synchronization

/// What a stream does with a new element when its buffer is full.
public enum OverflowPolicy: Hashable, Sendable {
    /// Keeps the newest elements: the oldest one waiting is dropped and counted. Right for values of which the latest matters.
    case dropOldest(capacity: Int)
    /// Keeps the oldest elements: the new one is dropped and counted.
    case dropNewest(capacity: Int)
    /// Loses nothing silently: the stream delivers what it holds, then throws `overflow`.
    case fail(capacity: Int)

    /// How many elements wait at most. A reader may hold as many again that it has taken over as one batch.
    public var capacity: Int {
        switch self {
        case .dropOldest(let capacity), .dropNewest(let capacity), .fail(let capacity): max(1, capacity)
        }
    }
}

/// A sequence of elements that arrive by themselves, with a bounded buffer between sender and reader.
///
/// It is meant for one reader: two iterators share the elements between them. Dropping the stream and its iterators, or
/// leaving the `for await` loop, ends what feeds it. A cancelled task gets `cancelled`.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
    /// Why iterating can fail.
    public typealias Failure = BLEError

    private let consumer: Consumer

    /// A stream and the end that feeds it.
    ///
    /// - Parameters:
    ///   - onTermination: called once, when nobody can read any more or the stream has ended.
    ///   - onRoom: called when the reader has taken over what was in a buffer that had no room for more.
    package static func make(
        of: Element.Type = Element.self, policy: OverflowPolicy, onTermination: @escaping @Sendable () -> Void = {},
        onRoom: @escaping @Sendable () -> Void = {}
    ) -> (stream: BoundedStream<Element>, producer: Producer) {
        let buffer = StreamBuffer<Element>(policy: policy, onRoom: onRoom, onTermination: onTermination)
        return (BoundedStream(consumer: Consumer(buffer)), Producer(buffer))
    }

    private init(consumer: Consumer) {
        self.consumer = consumer
    }

    /// How many elements the overflow policy has dropped so far.
    public var droppedCount: Int { consumer.buffer.droppedCount }

    /// An iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: consumer)
    }

    /// Drops what has arrived and no iterator has taken over.
    func discardWaiting() {
        var waiting: [Element] = []
        _ = consumer.buffer.take(into: &waiting)
    }

    /// The reading end; when its last reference goes, so does the stream.
    fileprivate final class Consumer: Sendable {
        let buffer: StreamBuffer<Element>

        init(_ buffer: StreamBuffer<Element>) { self.buffer = buffer }

        deinit { buffer.terminate() }
    }

    /// Reads a stream.
    public struct Iterator: AsyncIteratorProtocol {
        private let consumer: Consumer
        private var batch: [Element] = []
        private var position = 0

        fileprivate init(consumer: Consumer) {
            self.consumer = consumer
        }

        /// The next element, nil after the end.
        public mutating func next() async throws(BLEError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// The next element of those already taken over, if there is one.
        mutating func nextOfBatch() -> Element? {
            guard position < batch.count else { return nil }
            defer { position += 1 }
            return batch[position]
        }

        /// The next element, nil after the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Element? {
            while position == batch.count {
                batch.removeAll(keepingCapacity: true)
                position = 0
                switch consumer.buffer.take(into: &batch) {
                case .taken: break
                case .ended(nil): return nil
                case .ended(let error?): throw error
                case .empty: try await consumer.buffer.wait(isolation: actor)
                }
            }
            defer { position += 1 }
            return batch[position]
        }
    }

    /// The end that feeds a stream.
    package struct Producer: Sendable {
        private let buffer: StreamBuffer<Element>

        fileprivate init(_ buffer: StreamBuffer<Element>) { self.buffer = buffer }

        /// Adds an element, as the policy says. Never waits.
        package func yield(_ element: Element) { buffer.add(element) }

        /// Adds an element whether or not there is room, for a sender that stops when there is none. Never waits.
        ///
        /// - Returns: whether there is room for another. When not, `onRoom` will tell.
        package func offer(_ element: Element) -> Bool { buffer.offer(element) }

        /// Whether another element fits; always when nobody reads any more.
        package var hasRoom: Bool { buffer.hasRoom }

        /// Ends the stream once what waits has been read; with an error, by throwing it.
        package func finish(throwing error: BLEError? = nil) { buffer.finish(error) }
    }
}

/// What sender and reader of a stream share.
private final class StreamBuffer<Element: Sendable>: Sendable {
    enum Take {
        case taken
        case empty
        case ended(BLEError?)
    }

    private struct State {
        /// The waiting elements; once it is full, `head` is the oldest and the order wraps around.
        var elements: [Element] = []
        var head = 0
        var dropped = 0
        var end: BLEError??
        /// The sender waits for room.
        var wantsRoom = false
        /// The reader that waits, and any others that do. Each is resumed once, by whoever takes it out of here; unchecked,
        /// because the check costs more than the rest of a wait.
        var waiter: UnsafeContinuation<Void, Never>?
        var otherWaiters: [UnsafeContinuation<Void, Never>] = []
        var onTermination: (@Sendable () -> Void)?

        /// Puts the oldest element first.
        mutating func unwrap() {
            guard head != 0 else { return }
            elements = Array(elements[head...] + elements[..<head])
            head = 0
        }

        mutating func takeWaiters() -> Waiters {
            guard let first = waiter.take() else { return Waiters() }
            guard !otherWaiters.isEmpty else { return Waiters(first: first) }
            defer { otherWaiters = [] }
            return Waiters(first: first, others: otherWaiters)
        }
    }

    /// The readers that are to look again.
    private struct Waiters {
        var first: UnsafeContinuation<Void, Never>?
        var others: [UnsafeContinuation<Void, Never>] = []

        func resume() {
            first?.resume()
            for other in others { other.resume() }
        }
    }

    private let policy: OverflowPolicy
    private let capacity: Int
    private let onRoom: @Sendable () -> Void
    private let state: Mutex<State>

    init(
        policy: OverflowPolicy, onRoom: @escaping @Sendable () -> Void, onTermination: @escaping @Sendable () -> Void
    ) {
        self.policy = policy
        self.onRoom = onRoom
        capacity = policy.capacity
        var state = State()
        state.onTermination = onTermination
        self.state = Mutex(state)
    }

    var droppedCount: Int { state.withLock { $0.dropped } }

    func add(_ element: Element) {
        let (waiters, onTermination) = state.withLock { state in
            guard state.end == nil else { return (Waiters(), nil as (@Sendable () -> Void)?) }
            var onTermination: (@Sendable () -> Void)?
            if state.elements.count < capacity {
                state.elements.append(element)
            } else {
                state.dropped += 1
                switch policy {
                case .dropNewest: break
                case .dropOldest:
                    state.elements[state.head] = element
                    state.head = (state.head + 1) % state.elements.count
                case .fail:
                    state.end = BLEError(
                        .overflow, "the reader fell \(capacity) elements behind",
                        remedy: "Read faster, or choose a larger capacity or another overflow policy.")
                    onTermination = state.onTermination.take()
                }
            }
            return (state.takeWaiters(), onTermination)
        }
        waiters.resume()
        onTermination?()
    }

    /// Adds an element beyond the capacity, too.
    func offer(_ element: Element) -> Bool {
        let (waiters, hasRoom) = state.withLock { state in
            guard state.end == nil else { return (Waiters(), true) }
            state.unwrap()
            state.elements.append(element)
            state.wantsRoom = state.elements.count >= capacity
            return (state.takeWaiters(), !state.wantsRoom)
        }
        waiters.resume()
        return hasRoom
    }

    var hasRoom: Bool { state.withLock { $0.end != nil || $0.elements.count < capacity } }

    func finish(_ error: BLEError?) {
        let (waiters, onTermination) = state.withLock { state in
            if state.end == nil { state.end = .some(error) }
            return (state.takeWaiters(), state.onTermination.take())
        }
        waiters.resume()
        onTermination?()
    }

    /// The reader is gone.
    func terminate() {
        let onTermination = state.withLock { state in
            if state.end == nil { state.end = .some(nil) }
            state.elements = []
            return state.onTermination.take()
        }
        onTermination?()
    }

    /// Hands over everything that waits. `batch` must be empty; its storage becomes the buffer's.
    func take(into batch: inout [Element]) -> Take {
        let (take, wantedRoom) = state.withLock { state in
            guard !state.elements.isEmpty else {
                if let end = state.end { return (Take.ended(end), false) }
                return (.empty, false)
            }
            state.unwrap()
            swap(&state.elements, &batch)
            defer { state.wantsRoom = false }
            return (.taken, state.wantsRoom)
        }
        if wantedRoom { onRoom() }
        return take
    }

    /// Returns when there is something to take.
    func wait(isolation: isolated (any Actor)?) async throws(BLEError) {
        await withTaskCancellationHandler {
            await withUnsafeContinuation(isolation: isolation) { continuation in
                let isReady = state.withLock { state in
                    guard state.elements.isEmpty, state.end == nil, !Task.isCancelled else { return true }
                    if let first = state.waiter { state.otherWaiters.append(first) }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            // Others that wait look again, and wait on.
            state.withLock { $0.takeWaiters() }.resume()
        }
        // What came before the cancellation is handed out first.
        if Task.isCancelled, state.withLock({ $0.elements.isEmpty && $0.end == nil }) { throw .cancelled }
    }
}
