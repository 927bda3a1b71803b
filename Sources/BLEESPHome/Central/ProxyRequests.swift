package import BLE

/// The requests that a proxy has not answered yet.
///
/// An answer names an attribute and nothing else. Requests for the same kind of answer are therefore answered in order,
/// and a request whose caller no longer waits keeps its place until its answer arrives.
package struct ProxyRequests {
    /// What answers a request.
    package enum Answer: Hashable, Sendable {
        case value, done, subscription, pairing, unpairing
        /// No answer: a command that waits until it has left.
        case sent
    }

    fileprivate struct Key: Hashable {
        let address: UInt64
        let handle: UInt32
        let answer: Answer
    }

    package typealias Completion = @Sendable (Result<[UInt8], BLEError>) -> Void

    private struct Request {
        let number: Int
        /// Nil if nothing waits for the answer.
        var completion: Completion?
    }

    private var requests: [Key: [Request]] = [:]
    private var lastNumber = 0

    package init() {}

    package var isEmpty: Bool { requests.isEmpty }

    /// Whether somebody waits for an answer.
    package var areAwaited: Bool { requests.values.contains { $0.contains { $0.completion != nil } } }

    /// Adds a request. Returns what identifies it for ``cancel(_:)``.
    package mutating func add(
        _ answer: Answer, address: UInt64, handle: UInt32 = 0, _ completion: @escaping Completion
    ) -> Cancellation {
        lastNumber += 1
        let key = Key(address: address, handle: handle, answer: answer)
        requests[key, default: []].append(Request(number: lastNumber, completion: completion))
        return Cancellation(key: key, number: lastNumber)
    }

    package struct Cancellation: Sendable {
        fileprivate let key: Key
        fileprivate let number: Int
    }

    /// Stops waiting. Returns what is to be called with the error; nil if the request was answered.
    package mutating func cancel(_ cancellation: Cancellation) -> Completion? {
        guard let index = requests[cancellation.key]?.firstIndex(where: { $0.number == cancellation.number }) else {
            return nil
        }
        defer { requests[cancellation.key]?[index].completion = nil }
        return requests[cancellation.key]?[index].completion
    }

    /// Removes a request whose answer is no longer expected. Returns what is to be called.
    package mutating func remove(_ cancellation: Cancellation) -> Completion? {
        guard let index = requests[cancellation.key]?.firstIndex(where: { $0.number == cancellation.number }) else {
            return nil
        }
        let removed = requests[cancellation.key]?.remove(at: index)
        if requests[cancellation.key]?.isEmpty == true { requests[cancellation.key] = nil }
        return removed?.completion
    }

    /// Whether an answer is expected, also if nothing waits for it.
    package func expects(_ answer: Answer, address: UInt64, handle: UInt32 = 0) -> Bool {
        requests[Key(address: address, handle: handle, answer: answer)] != nil
    }

    /// Takes the request that an answer belongs to. Nil if there is none, or if nothing waits for it.
    package mutating func take(_ answer: Answer, address: UInt64, handle: UInt32 = 0) -> Completion? {
        let key = Key(address: address, handle: handle, answer: answer)
        guard let first = requests[key]?.first else { return nil }
        requests[key]?.removeFirst()
        if requests[key]?.isEmpty == true { requests[key] = nil }
        return first.completion
    }

    /// Takes the request that an error belongs to: the oldest one of the attribute.
    package mutating func takeFailed(address: UInt64, handle: UInt32) -> Completion? {
        let oldest = [Answer.value, .done, .subscription].compactMap { answer in
            requests[Key(address: address, handle: handle, answer: answer)]?.first.map { (answer, $0.number) }
        }
        .min { $0.1 < $1.1 }
        return oldest.flatMap { take($0.0, address: address, handle: handle) }
    }

    /// Takes all requests of a peripheral, or of all.
    package mutating func takeAll(address: UInt64? = nil) -> [Completion] {
        let keys = requests.keys.filter { address == nil || $0.address == address }
        let taken = keys.flatMap { requests[$0] ?? [] }.sorted { $0.number < $1.number }
        for key in keys { requests[key] = nil }
        return taken.compactMap(\.completion)
    }
}
