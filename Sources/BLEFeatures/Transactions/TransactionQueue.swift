/// Which of the waiting requests may be written, and whom a reply is for.
///
/// Replies are told apart by their key alone, so of each key one request is under way at a time. One that is given up after it
/// was written leaves its place occupied: its reply may still come, and must not be taken for the next one's. The place is
/// free when that reply has come, or when its grace is over.
struct TransactionQueue<Key: Hashable & Sendable>: Sendable {
    typealias ID = Int

    /// Whom a reply is for.
    enum Match: Equatable {
        /// This request.
        case request(ID)
        /// This one, which was given up.
        case late(ID)
        /// Nobody.
        case none
    }

    private var waiting: [(id: ID, key: Key)] = []
    private var current: [Key: ID] = [:]
    private var late: [Key: ID] = [:]

    /// Nothing waits and nothing is under way.
    var isEmpty: Bool { waiting.isEmpty && current.isEmpty }

    /// Queues a request up.
    mutating func add(_ id: ID, _ key: Key) {
        waiting.append((id, key))
    }

    /// Whether a request may be written.
    var hasNext: Bool { nextIndex != nil }

    private var nextIndex: Int? { waiting.firstIndex { current[$0.key] == nil && late[$0.key] == nil } }

    /// The oldest request that may be written; it is under way from now on.
    mutating func next() -> ID? {
        guard let index = nextIndex else { return nil }
        let (id, key) = waiting.remove(at: index)
        current[key] = id
        return id
    }

    /// A reply has come.
    mutating func reply(_ key: Key) -> Match {
        if let id = late.removeValue(forKey: key) { return .late(id) }
        if let id = current.removeValue(forKey: key) { return .request(id) }
        return .none
    }

    /// Nothing more is expected for a request that is under way, or was when it was given up.
    mutating func finish(_ id: ID, _ key: Key) {
        if current[key] == id { current[key] = nil }
        if late[key] == id { late[key] = nil }
    }

    /// Whether the request was given up and its reply may still come.
    func isLate(_ id: ID, _ key: Key) -> Bool { late[key] == id }

    /// Nobody waits for the reply any more. True when it may still come: then ``graceEnded(_:_:)`` is to follow.
    mutating func giveUp(_ id: ID, _ key: Key) -> Bool {
        waiting.removeAll { $0.id == id }
        guard current[key] == id else { return false }
        current[key] = nil
        late[key] = id
        return true
    }

    /// The reply to a request that was given up is not expected any more.
    mutating func graceEnded(_ id: ID, _ key: Key) {
        if late[key] == id { late[key] = nil }
    }

    /// The link has ended, and with it what was under way: those requests.
    mutating func interrupt() -> [ID] {
        defer {
            current = [:]
            late = [:]
        }
        return Array(current.values)
    }

    /// All that wait, which are forgotten.
    mutating func removeWaiting() -> [ID] {
        defer { waiting = [] }
        return waiting.map(\.id)
    }
}
