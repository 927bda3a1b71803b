internal import Synchronization
internal import Waiting

/// A bounded queue for any number of readers. Each reader takes one element at a time, so that nothing is lost if a
/// reader stops.
final class SharedQueue<Element: Sendable>: Sendable {
    private struct State {
        /// The elements. Taken elements are replaced by nil, so that the queue does not retain them.
        var elements: [Element?] = []
        /// The index of the oldest element.
        var head = 0
        var waiting: [Outcome<Void>] = []
        /// The end of the queue: no further elements are added, but the waiting elements can still be taken.
        var end: Result<Void, BLEError>?
        /// Whether the producer was told that there is no room, and waits for ``onRoom``.
        var isFull = false

        var count: Int { elements.count - head }

        mutating func take() -> Element? {
            guard head < elements.count else { return nil }
            defer {
                head += 1
                if head == elements.count || head >= 256 {
                    elements.removeFirst(head)
                    head = 0
                }
            }
            let element = elements[head]
            elements[head] = nil
            return element
        }
    }

    private let state = Mutex(State())
    private let capacity: Int
    private let onRoom: @Sendable () -> Void

    /// - Parameter onRoom: called when half of a full queue is free.
    init(capacity: Int, onRoom: @escaping @Sendable () -> Void = {}) {
        self.capacity = capacity
        self.onRoom = onRoom
    }

    /// Adds an element, even without room.
    ///
    /// - Returns: whether there is room for another one. If not, `onRoom` is called once there is. Nil if the queue has
    ///   ended, so that the element was not added.
    func offer(_ element: Element) -> Bool? {
        let (waiter, hasRoom): (Outcome<Void>?, Bool?) = state.withLock { state in
            guard state.end == nil else { return (nil, nil) }
            state.elements.append(element)
            let hasRoom = state.count < capacity
            if !hasRoom { state.isFull = true }
            return (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), hasRoom)
        }
        waiter?.deliver(.success(()))
        return hasRoom
    }

    /// Adds an element if there is room. Returns whether it was added.
    func add(_ element: Element) -> Bool {
        let (waiter, isAdded): (Outcome<Void>?, Bool) = state.withLock { state in
            guard state.end == nil, state.count < capacity else { return (nil, false) }
            state.elements.append(element)
            return (state.waiting.isEmpty ? nil : state.waiting.removeFirst(), true)
        }
        waiter?.deliver(.success(()))
        return isAdded
    }

    private enum Taking {
        case taken(Element, hasRoom: Bool)
        case ended(Result<Void, BLEError>)
        case waits(Outcome<Void>)
    }

    /// Returns the next element, or nil at the end. Throws the error with which the queue has ended, `cancelled`, and
    /// the error of the deadline. An element that arrives at that moment stays in the queue.
    func next(isolation: isolated (any Actor)?, until deadline: SharedDeadline? = nil) async throws(BLEError)
        -> Element?
    {
        while true {
            if Task.isCancelled {
                // This reader may have been woken for an element just before.
                wakeNext()
                throw .cancelled
            }
            let taking: Taking = state.withLock { state in
                if let element = state.take() {
                    let hasRoom = state.isFull && state.count <= capacity / 2
                    if hasRoom { state.isFull = false }
                    return .taken(element, hasRoom: hasRoom)
                }
                if let end = state.end { return .ended(end) }
                let outcome = Outcome<Void>()
                state.waiting.append(outcome)
                return .waits(outcome)
            }
            switch taking {
            case .taken(let element, let hasRoom):
                if hasRoom { onRoom() }
                return element
            case .ended(let end):
                try end.get()
                return nil
            case .waits(let outcome):
                deadline?.limit(outcome)
                do throws(BLEError) {
                    try await outcome.wait(isolation: isolation)
                } catch {
                    leave(outcome)
                    throw error
                }
            }
        }
    }

    /// Removes a reader that has given up. If it was woken for an element, another reader takes that element.
    private func leave(_ outcome: Outcome<Void>) {
        let wasWaiting = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === outcome }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
        if !wasWaiting { wakeNext() }
    }

    /// Wakes a reader if there is an element for it.
    private func wakeNext() {
        let next: Outcome<Void>? = state.withLock { state in
            state.count > 0 && !state.waiting.isEmpty ? state.waiting.removeFirst() : nil
        }
        next?.deliver(.success(()))
    }

    /// Ends the queue, once.
    func finish(throwing error: BLEError? = nil) {
        let waiting = state.withLock { state in
            state.end = state.end ?? error.map { .failure($0) } ?? .success(())
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.deliver(.success(())) }
    }

    /// Takes all waiting elements.
    func takeAll() -> [Element] {
        state.withLock { state in
            defer { (state.elements, state.head) = ([], 0) }
            return state.elements[state.head...].compactMap(\.self)
        }
    }
}
