public import BLE

/// A date in UTC, sent as the days since January 1, 1970 (GATT Specification Supplement, Date UTC).
public struct DateUTC: Hashable, Codable, ValueCodable {
    /// The days since January 1, 1970, from 1 to 16,777,214. Nil if the date is unknown.
    public var daysSince1970: Int?

    /// Creates a date.
    public init(daysSince1970: Int?) {
        self.daysSince1970 = daysSince1970
    }

    /// Creates the date of a date and time in UTC. Returns nil if a part of the date is unknown.
    public init?(_ dateTime: DateTime) {
        var midnight = dateTime
        (midnight.hour, midnight.minute, midnight.second) = (0, 0, 0)
        guard let seconds = midnight.secondsSince1970 else { return nil }
        daysSince1970 = seconds / 86400
    }

    /// The beginning of the day. Nil if the date is unknown, or after the year 9999.
    public var dateTime: DateTime? {
        guard let daysSince1970 else { return nil }
        let (seconds, isTooLarge) = daysSince1970.multipliedReportingOverflow(by: 86400)
        return isTooLarge ? nil : DateTime(secondsSince1970: seconds)
    }

    /// Decodes three bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let days = Int(try reader.uint24())
        guard days <= Self.last else { throw reader.invalid("day \(days) is not a valid date") }
        daysSince1970 = days == 0 ? nil : days
    }

    /// Encodes three bytes. Throws `invalidValue` if the date cannot be represented, such as January 1, 1970.
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
