public import BLE

/// Selects records of a device.
///
/// All devices support ``all``. The service specifies which other selections are supported; for the rest, devices
/// answer `operatorNotSupported`.
///
/// ```swift
/// let new = try await Glucose(meter).records(.sequenceNumbers(after: last))
/// ```
///
/// Numbers start again after a reset and after 65535, and the device then has no records after the last known number.
/// Therefore, if there are none, check the newest record (``last``). If its number is lower than the last known one,
/// fetch ``all``, or those since a time (``userFacingTimes(from:to:)``).
public struct RecordSelection: Hashable, Sendable {
    /// The comparison of records.
    public let `operator`: RecordAccessMessage.Operator
    /// The filter type and one or two values to compare with. Empty without a comparison.
    public let operand: [UInt8]

    /// Creates any selection, for services with their own filters.
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

    /// Selects the records from the given number on (Glucose Service 1.0.1, section 3.4.1.2: filter type 1).
    public static func sequenceNumbers(_ numbers: PartialRangeFrom<UInt16>) -> RecordSelection {
        RecordSelection(.greaterThanOrEqual, operand: [1] + bytes(numbers.lowerBound))
    }

    /// Selects the records after the given number. After 65535, numbers start again at 0, so all records are selected.
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

    /// Selects the records measured from `start` to `end`, inclusive, on the clock that the user sees (filter type 2).
    /// Selects all records if both are nil. Throws `invalidValue` for an invalid time.
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
