public import Synchronization

/// How a stream handles a new element when its buffer is full.
public enum OverflowPolicy: Hashable, Sendable {
    /// Keeps the newest elements: the oldest waiting element is dropped and counted. Suitable if only the latest values
    /// matter.
    case dropOldest(capacity: Int)
    /// Keeps the oldest elements: the new element is dropped and counted.
    case dropNewest(capacity: Int)
    /// Fails instead of dropping elements silently: the stream delivers the waiting elements, then throws `overflow`.
    case fail(capacity: Int)

    /// The maximum number of waiting elements. A reader may hold the same number again in the last batch that it took.
    public var capacity: Int {
        switch self {
        case .dropOldest(let capacity), .dropNewest(let capacity), .fail(let capacity): max(1, capacity)
        }
    }
}

/// An asynchronous sequence with a bounded buffer between producer and reader.
///
/// A stream is meant for one reader: two iterators would divide the elements between them. Releasing the stream and its
/// iterators, or leaving the `for await` loop, stops the producer. A cancelled task receives `cancelled`.
public struct BoundedStream<Element: Sendable>: AsyncSequence, Sendable {
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    private let consumer: Consumer

    /// Creates a stream and its producer.
    ///
    /// - Parameters:
    ///   - drops: counts dropped elements, too, for several streams.
    ///   - onTermination: called once, when the stream has ended or can no longer be read.
    ///   - onRoom: called when the reader has taken the elements of a buffer that had no room for more.
    package static func make(
        of: Element.Type = Element.self, policy: OverflowPolicy, onTermination: @escaping @Sendable () -> Void = {},
        onRoom: @escaping @Sendable () -> Void = {}
    ) -> (stream: BoundedStream<Element>, producer: Producer) {
        make(policy: policy, drops: nil, onTermination: onTermination, onRoom: onRoom)
    }

    static func make(
        of: Element.Type = Element.self, policy: OverflowPolicy, drops: DropCounter?,
        onTermination: @escaping @Sendable () -> Void = {}, onRoom: @escaping @Sendable () -> Void = {}
    ) -> (stream: BoundedStream<Element>, producer: Producer) {
        let buffer = StreamBuffer<Element>(policy: policy, drops: drops, onRoom: onRoom, onTermination: onTermination)
        return (BoundedStream(consumer: Consumer(buffer)), Producer(buffer))
    }

    private init(consumer: Consumer) {
        self.consumer = consumer
    }

    /// The number of elements that the overflow policy has dropped so far.
    public var droppedCount: Int { consumer.buffer.droppedCount }

    /// Returns ``droppedCount``. The function does not keep the stream alive.
    var drops: @Sendable () -> Int { { [buffer = consumer.buffer] in buffer.droppedCount } }

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(consumer: consumer)
    }

    /// Drops the waiting elements that no iterator has taken.
    func discardWaiting() {
        var waiting: [Element] = []
        _ = consumer.buffer.take(into: &waiting)
    }

    /// The reading end of a stream. Releasing its last reference terminates the stream.
    fileprivate final class Consumer: Sendable {
        let buffer: StreamBuffer<Element>

        init(_ buffer: StreamBuffer<Element>) { self.buffer = buffer }

        deinit { buffer.terminate() }
    }

    /// An iterator over the elements of a stream.
    public struct Iterator: AsyncIteratorProtocol {
        private let consumer: Consumer
        // Code that reads the batch is inlined where the type of the elements is known, which saves a quarter of an
        // element's cost.
        @usableFromInline var batch: [Element] = []
        @usableFromInline var position = 0

        fileprivate init(consumer: Consumer) {
            self.consumer = consumer
        }

        /// Returns the next element, or nil at the end of the stream.
        @inlinable
        public mutating func next() async throws(BLEError) -> Element? {
            try await next(isolation: #isolation)
        }

        /// Returns the next element of the batch that was already taken, or nil if there is none.
        @inlinable
        mutating func nextOfBatch() -> Element? {
            guard position < batch.count else { return nil }
            defer { position += 1 }
            return batch[position]
        }

        /// Returns the next element, or nil at the end of the stream, without leaving the caller's actor.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Element? {
            if position == batch.count, try await !refill(isolation: actor) { return nil }
            defer { position += 1 }
            return batch[position]
        }

        /// Takes the waiting elements, after waiting for the first one if there is none. Returns false at the end of
        /// the stream.
        @usableFromInline
        mutating func refill(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Bool {
            while position == batch.count {
                batch.removeAll(keepingCapacity: true)
                position = 0
                switch consumer.buffer.take(into: &batch) {
                case .taken: break
                case .ended(nil): return false
                case .ended(let error?): throw error
                case .empty: try await consumer.buffer.wait(isolation: actor)
                }
            }
            return true
        }
    }

    /// The producing end of a stream. Only the framework creates producers; the type is public for the same reason as
    /// `TimerQueue`.
    public struct Producer: Sendable {
        @usableFromInline let buffer: StreamBuffer<Element>

        fileprivate init(_ buffer: StreamBuffer<Element>) { self.buffer = buffer }

        /// Adds an element according to the overflow policy. Never waits.
        @inlinable
        public func yield(_ element: Element) { buffer.add(element) }

        /// Adds an element even if there is no room, for a producer that then pauses. Never waits.
        ///
        /// - Returns: whether there is room for another element. If not, `onRoom` is called once there is.
        package func offer(_ element: Element) -> Bool { buffer.offer(element) }

        /// Whether another element fits. Always true after the end of the stream.
        package var hasRoom: Bool { buffer.hasRoom }

        /// Ends the stream after the waiting elements have been read, by throwing `error` if there is one.
        package func finish(throwing error: BLEError? = nil) { buffer.finish(error) }
    }
}

/// The state shared by the producer and the reader of a stream.
@usableFromInline
final class StreamBuffer<Element: Sendable>: Sendable {
    fileprivate enum Take {
        case taken
        case empty
        case ended(BLEError?)
    }

    @usableFromInline
    struct State {
        /// The waiting elements. Once the buffer is full, `head` is the index of the oldest, and the order wraps
        /// around.
        @usableFromInline var elements: [Element] = []
        @usableFromInline var head = 0
        @usableFromInline var dropped = 0
        @usableFromInline var end: BLEError??
        /// The producer waits for room.
        @usableFromInline var wantsRoom = false
        /// The first waiting reader; any others are separate. Each is resumed once, by the code that removes it from
        /// the state. The continuations are unsafe because checking costs more than the rest of a wait.
        @usableFromInline var waiter: UnsafeContinuation<Void, Never>?
        @usableFromInline var otherWaiters: [UnsafeContinuation<Void, Never>] = []
        @usableFromInline var onTermination: (@Sendable () -> Void)?

        init(onTermination: @escaping @Sendable () -> Void) { self.onTermination = onTermination }

        /// Rotates the elements so that the oldest is first.
        mutating func unwrap() {
            guard head != 0 else { return }
            elements = Array(elements[head...] + elements[..<head])
            head = 0
        }

        @inlinable
        mutating func takeWaiters() -> Waiters {
            guard let first = waiter.take() else { return Waiters() }
            guard !otherWaiters.isEmpty else { return Waiters(first: first) }
            defer { otherWaiters = [] }
            return Waiters(first: first, others: otherWaiters)
        }
    }

    /// The readers to resume.
    @usableFromInline
    struct Waiters {
        @usableFromInline var first: UnsafeContinuation<Void, Never>?
        @usableFromInline var others: [UnsafeContinuation<Void, Never>] = []

        @inlinable
        init(first: UnsafeContinuation<Void, Never>? = nil, others: [UnsafeContinuation<Void, Never>] = []) {
            self.first = first
            self.others = others
        }

        @inlinable
        func resume() {
            first?.resume()
            for other in others { other.resume() }
        }
    }

    @usableFromInline let policy: OverflowPolicy
    @usableFromInline let capacity: Int
    @usableFromInline let drops: DropCounter?
    private let onRoom: @Sendable () -> Void
    @usableFromInline let state: Mutex<State>

    fileprivate init(
        policy: OverflowPolicy, drops: DropCounter?, onRoom: @escaping @Sendable () -> Void,
        onTermination: @escaping @Sendable () -> Void
    ) {
        (self.policy, self.drops) = (policy, drops)
        self.onRoom = onRoom
        capacity = policy.capacity
        state = Mutex(State(onTermination: onTermination))
    }

    var droppedCount: Int { state.withLock { $0.dropped } }

    @inlinable
    func add(_ element: Element) {
        let (waiters, onTermination, hasDropped) = state.withLock { state in
            guard state.end == nil else { return (Waiters(), nil as (@Sendable () -> Void)?, false) }
            var hasDropped = false
            var onTermination: (@Sendable () -> Void)?
            if state.elements.count < capacity {
                state.elements.append(element)
            } else {
                state.dropped += 1
                hasDropped = true
                switch policy {
                case .dropNewest: break
                case .dropOldest:
                    state.elements[state.head] = element
                    state.head = (state.head + 1) % state.elements.count
                case .fail:
                    state.end = .some(.overflow(capacity))
                    onTermination = state.onTermination.take()
                }
            }
            return (state.takeWaiters(), onTermination, hasDropped)
        }
        waiters.resume()
        onTermination?()
        // After the lock is released: an observer is told of it.
        if hasDropped { drops?.add() }
    }

    /// Adds an element, even beyond the capacity.
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

    /// Ends the stream because its reader is gone.
    func terminate() {
        // The elements are released after the lock: they may hold the last reference to the object that ends this
        // stream.
        let (unread, onTermination) = state.withLock { state in
            if state.end == nil { state.end = .some(nil) }
            let unread = state.elements
            state.elements = []
            return (unread, state.onTermination.take())
        }
        onTermination?()
        _ = consume unread
    }

    /// Moves all waiting elements into `batch`, which must be empty. Its storage becomes the storage of the buffer.
    fileprivate func take(into batch: inout [Element]) -> Take {
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

    /// Waits until there is something to take. Throws `cancelled`.
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
            // Other waiting readers check again and keep waiting.
            state.withLock { $0.takeWaiters() }.resume()
        }
        // Elements that arrived before the cancellation are delivered first.
        if Task.isCancelled, state.withLock({ $0.elements.isEmpty && $0.end == nil }) { throw .cancelled }
    }
}

extension BLEError {
    @usableFromInline
    static func overflow(_ capacity: Int) -> BLEError {
        BLEError(
            .overflow, "the buffer of \(capacity) elements is full",
            remedy: "Read faster, or choose a larger capacity or another overflow policy.")
    }
}
