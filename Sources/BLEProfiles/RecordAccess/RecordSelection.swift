public import BLE

/// A selection of records on a device.
///
/// All devices support ``all``. The service specifies which other selections are supported; devices reject the others
/// with `operatorNotSupported`.
///
/// ```swift
/// let new = try await Glucose(meter).records(.sequenceNumbers(after: last))
/// ```
///
/// Sequence numbers restart after a reset and after 65535, and the device then has no records after the last known
/// number. Therefore, if this returns none, check the newest record (``last``). If its number is lower than the last
/// known one, fetch ``all`` records, or those since a time (``userFacingTimes(from:to:)``).
public struct RecordSelection: Hashable, Codable, Sendable {
    /// The operator that selects records.
    public let `operator`: RecordAccessMessage.Operator
    /// The filter type and one or two values to compare with. Empty if the operator compares nothing.
    public let operand: [UInt8]

    /// Creates a custom selection, for services with their own filter types.
    public init(_ operator: RecordAccessMessage.Operator, operand: [UInt8] = []) {
        self.operator = `operator`
        self.operand = operand
    }

    /// All records.
    public static let all = RecordSelection(.all)
    /// The oldest record.
    public static let first = RecordSelection(.first)
    /// The newest record.
    public static let last = RecordSelection(.last)

    /// Selects the records from the given number onward (Glucose Service 1.0.1, section 3.4.1.2: filter type 1).
    public static func sequenceNumbers(_ numbers: PartialRangeFrom<UInt16>) -> RecordSelection {
        RecordSelection(.greaterThanOrEqual, operand: [1] + bytes(numbers.lowerBound))
    }

    /// Selects the records after the given number; after 65535, all records, because numbers then restart at 0.
    public static func sequenceNumbers(after last: UInt16) -> RecordSelection {
        sequenceNumbers((last &+ 1)...)
    }

    /// Selects the records up to the given number, inclusive.
    public static func sequenceNumbers(_ numbers: PartialRangeThrough<UInt16>) -> RecordSelection {
        RecordSelection(.lessThanOrEqual, operand: [1] + bytes(numbers.upperBound))
    }

    /// Selects the records with the given numbers.
    public static func sequenceNumbers(_ numbers: ClosedRange<UInt16>) -> RecordSelection {
        RecordSelection(.within, operand: [1] + bytes(numbers.lowerBound) + bytes(numbers.upperBound))
    }

    /// Selects the records measured from `start` to `end`, inclusive, in user-facing time (filter type 2). Selects all
    /// records if both are nil. Throws `invalidValue` for an invalid time.
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
