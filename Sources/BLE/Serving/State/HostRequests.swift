internal import Waiting

/// The requests of centrals that a host is answering, and the turns of writes.
struct HostRequests {
    private struct Request {
        /// The definition that it is for.
        let application: Int
        /// The central that waits for its answer.
        let central: DeviceID
        /// Ends what it waits for: its turn, or its handler, which is cancelled.
        var end: (BLEError) -> Void = { _ in }
        var hasEnded = false
    }

    private var requests: [Int: Request] = [:]
    /// For each central and attribute, one handler of a write runs at a time.
    var writes = Turns<AttributeOfCentral, Outcome<Void>>()

    mutating func begin(_ number: Int, for application: Int, from central: DeviceID) {
        requests[number] = Request(application: application, central: central)
    }

    /// Whether a request has neither ended nor been answered.
    func isPending(_ number: Int) -> Bool { requests[number]?.hasEnded == false }

    /// Sets the function that ends the wait of a request. Nil if the request does not wait.
    mutating func wait(_ number: Int, end: ((BLEError) -> Void)?) { requests[number]?.end = end ?? { _ in } }

    /// Removes a request that is answered.
    mutating func remove(_ number: Int) { requests[number] = nil }

    /// Ends a request, unless it has been answered. Returns the function that ends its wait.
    mutating func end(_ number: Int) -> ((BLEError) -> Void)? {
        requests[number]?.hasEnded = true
        return requests[number]?.end
    }

    /// The requests for a definition, from a central, or all of them.
    func numbers(for application: Int? = nil, from central: DeviceID? = nil) -> [Int] {
        requests.filter { _, request in
            request.application == application ?? request.application && request.central == central ?? request.central
        }.map(\.key)
    }
}
