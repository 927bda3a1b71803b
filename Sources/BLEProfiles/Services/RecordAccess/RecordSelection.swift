public import BLE

/// Which of a device's records are meant.
///
/// Devices must know ``all``; which others one knows its service says, and the answer `operatorNotSupported`.
///
/// ```swift
/// let new = try await Glucose(meter).records(.sequenceNumbers(after: last))
/// ```
///
/// A device that was reset, or has come to 65535, begins again at a low number, and then has nothing after the number that was seen
/// last. So when nothing comes, look at the newest record (``last``): if its number is lower than the one that was seen last, fetch
/// ``all``, or the ones since a time (``userFacingTimes(from:to:)``).
public struct RecordSelection: Hashable, Sendable {
    /// How records are compared.
    public let `operator`: RecordAccessMessage.Operator
    /// With what: the type of a filter and one or two values; empty without a comparison.
    public let operand: [UInt8]

    /// Any selection, for services with filters of their own.
    public init(_ operator: RecordAccessMessage.Operator, operand: [UInt8] = []) {
        self.operator = `operator`
        self.operand = operand
    }

    /// Every record.
    public static let all = RecordSelection(.all)
    /// The oldest record.
    public static let first = RecordSelection(.first)
    /// The newest record.
    public static let last = RecordSelection(.last)

    /// The records from that number on (Glucose Service 1.0.1, section 3.4.1.2: filter type 1).
    public static func sequenceNumbers(_ numbers: PartialRangeFrom<UInt16>) -> RecordSelection {
        RecordSelection(.greaterThanOrEqual, operand: [1] + bytes(numbers.lowerBound))
    }

    /// The records from the number after that one on. After 65535 numbers begin again at 0, so that all records are meant then.
    public static func sequenceNumbers(after last: UInt16) -> RecordSelection {
        sequenceNumbers((last &+ 1)...)
    }

    /// The records up to that number, itself included.
    public static func sequenceNumbers(_ numbers: PartialRangeThrough<UInt16>) -> RecordSelection {
        RecordSelection(.lessThanOrEqual, operand: [1] + bytes(numbers.upperBound))
    }

    /// The records with these numbers.
    public static func sequenceNumbers(_ numbers: ClosedRange<UInt16>) -> RecordSelection {
        RecordSelection(.within, operand: [1] + bytes(numbers.lowerBound) + bytes(numbers.upperBound))
    }

    /// The records that were measured from `start` on, up to `end`, both included, by the clock that the user sees (filter type 2); all
    /// records where neither is given. Throws `invalidValue` for a time that there is not.
    public static func userFacingTimes(
        from start: DateTime? = nil, to end: DateTime? = nil
    ) throws(BLEError) -> RecordSelection {
        switch (start, end) {
        case (nil, nil): .all
        case (let start?, nil): RecordSelection(.greaterThanOrEqual, operand: [2] + (try start.encoded()))
        case (nil, let end?): RecordSelection(.lessThanOrEqual, operand: [2] + (try end.encoded()))
        case (let start?, let end?):
            RecordSelection(.within, operand: [2] + (try start.encoded()) + (try end.encoded()))
        }
    }

    private static func bytes(_ number: UInt16) -> [UInt8] { [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
}
