public import BLE

/// A date in the time zone UTC, sent as the days since January 1, 1970 (GATT Specification Supplement, Date UTC).
public struct DateUTC: Hashable, ValueCodable {
    /// Days since January 1, 1970, 1 to 16,777,214; nil when the date is not known.
    public var daysSince1970: Int?

    /// A date.
    public init(daysSince1970: Int?) {
        self.daysSince1970 = daysSince1970
    }

    /// The day of a date and time, which are in UTC; nil when a part of the date is not known.
    public init?(_ dateTime: DateTime) {
        var midnight = dateTime
        (midnight.hour, midnight.minute, midnight.second) = (0, 0, 0)
        guard let seconds = midnight.secondsSince1970 else { return nil }
        daysSince1970 = seconds / 86400
    }

    /// The midnight with which the day begins; nil when the date is not known, or after the year 9999.
    public var dateTime: DateTime? {
        guard let daysSince1970 else { return nil }
        let (seconds, isTooLarge) = daysSince1970.multipliedReportingOverflow(by: 86400)
        return isTooLarge ? nil : DateTime(secondsSince1970: seconds)
    }

    /// Three bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let days = Int(try reader.uint24())
        guard days <= Self.last else { throw reader.invalid("\(days) is no date") }
        daysSince1970 = days == 0 ? nil : days
    }

    /// Three bytes. Throws `invalidValue` for days that cannot be sent, January 1, 1970, among them.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        if let daysSince1970 {
            guard 1...Self.last ~= daysSince1970 else {
                throw BLEError(.invalidValue, "the day \(daysSince1970) is not in the range 1 to \(Self.last)")
            }
        }
        try writer.integer(daysSince1970 ?? 0, .uint24)
    }

    private static let last = 0xFF_FFFE
}
