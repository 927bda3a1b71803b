/// The control points with a request in progress, and those that may still answer an abandoned one.
struct ControlPointRequests {
    private var pending: Set<AttributeID> = []
    /// Each task ends with the late answer, or after a time limit.
    private var late: [AttributeID: Task<Void, Never>] = [:]

    var isEmpty: Bool { pending.isEmpty && late.isEmpty }

    /// Begins a request. Throws `requestInProgress` if there is one, since the answers to two simultaneous requests
    /// cannot be told apart.
    mutating func begin(_ attribute: AttributeID) throws(BLEError) {
        guard pending.insert(attribute).inserted else {
            throw BLEError(.requestInProgress, "another request on this control point is waiting for its answer")
        }
    }

    mutating func end(_ attribute: AttributeID) { pending.remove(attribute) }

    /// The wait for the answer to an abandoned request.
    func lateAnswer(of attribute: AttributeID) -> Task<Void, Never>? { late[attribute] }

    mutating func setLateAnswer(of attribute: AttributeID, _ task: Task<Void, Never>?) { late[attribute] = task }
}
