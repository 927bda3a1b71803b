/// The reasons that were told for which something cannot be used, so that each is told once until it can be used again,
/// also if they alternate.
package struct ToldReasons: Sendable {
    /// The maximum number of reasons that are remembered. Beyond it, the oldest may be told once more.
    private static let capacity = 16
    private var reasons: [BLEError] = []

    package init() {}

    /// Whether nothing was told.
    package var isEmpty: Bool { reasons.isEmpty }

    /// Records a reason. Returns whether it is to be told.
    package mutating func tell(_ reason: BLEError) -> Bool {
        guard !reasons.contains(where: { BLEError.haveSameReason($0, reason) }) else { return false }
        if reasons.count >= Self.capacity { reasons.removeFirst() }
        reasons.append(reason)
        return true
    }

    /// Records that it can be used. Returns whether it could not, as was told.
    @discardableResult package mutating func clear() -> Bool {
        defer { reasons = [] }
        return !reasons.isEmpty
    }

    /// Records that it cannot be used in another way than before. All reasons but the last one may be told again.
    package mutating func change() { reasons.removeFirst(max(0, reasons.count - 1)) }
}

extension BLEError {
    /// Whether two errors tell people the same.
    package static func haveSameReason(_ first: BLEError?, _ second: BLEError?) -> Bool {
        first?.code == second?.code && first?.message == second?.message
    }
}
