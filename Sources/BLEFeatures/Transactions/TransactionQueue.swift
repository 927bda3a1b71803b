/// Determines which request may be written next, and which request a reply belongs to.
///
/// Replies are distinguished only by their key, so only one request with a given key is in progress at a time. If a
/// request is abandoned after it was written, its key stays blocked, so that its late reply is not taken for the reply
/// to the next request. The key is free again when the late reply has arrived, or when the grace period is over.
struct TransactionQueue<Key: Hashable & Sendable>: Sendable {
    typealias ID = Int

    /// The request that a reply belongs to.
    enum Match: Equatable {
        /// A request in progress.
        case request(ID)
        /// An abandoned request.
        case late(ID)
        /// No request.
        case none
    }

    private var waiting: [(id: ID, key: Key)] = []
    private var current: [Key: ID] = [:]
    private var late: [Key: ID] = [:]

    /// Whether no request is waiting or in progress.
    var isEmpty: Bool { waiting.isEmpty && current.isEmpty }

    /// Adds a request to the queue.
    mutating func add(_ id: ID, _ key: Key) {
        waiting.append((id, key))
    }

    /// Whether a request may be written.
    var hasNext: Bool { nextIndex != nil }

    private var nextIndex: Int? { waiting.firstIndex { current[$0.key] == nil && late[$0.key] == nil } }

    /// Removes and returns the oldest request that may be written. It is in progress from then on.
    mutating func next() -> ID? {
        guard let index = nextIndex else { return nil }
        let (id, key) = waiting.remove(at: index)
        current[key] = id
        return id
    }

    /// Returns the request that a reply belongs to, and frees its key.
    mutating func reply(_ key: Key) -> Match {
        if let id = late.removeValue(forKey: key) { return .late(id) }
        if let id = current.removeValue(forKey: key) { return .request(id) }
        return .none
    }

    /// Frees the key of a request, which is in progress or was abandoned.
    mutating func finish(_ id: ID, _ key: Key) {
        if current[key] == id { current[key] = nil }
        if late[key] == id { late[key] = nil }
    }

    /// Whether the request was abandoned and its reply may still arrive.
    func isLate(_ id: ID, _ key: Key) -> Bool { late[key] == id }

    /// Abandons a request. Returns true if its reply may still arrive; ``graceEnded(_:_:)`` must then be called later.
    mutating func giveUp(_ id: ID, _ key: Key) -> Bool {
        waiting.removeAll { $0.id == id }
        guard current[key] == id else { return false }
        current[key] = nil
        late[key] = id
        return true
    }

    /// Frees the key of an abandoned request, whose reply is no longer expected.
    mutating func graceEnded(_ id: ID, _ key: Key) {
        if late[key] == id { late[key] = nil }
    }

    /// Frees all keys, because the link has ended. Returns the requests that were in progress.
    mutating func interrupt() -> [ID] {
        defer {
            current = [:]
            late = [:]
        }
        return Array(current.values)
    }

    /// Removes and returns all waiting requests.
    mutating func removeWaiting() -> [ID] {
        defer { waiting = [] }
        return waiting.map(\.id)
    }
}
