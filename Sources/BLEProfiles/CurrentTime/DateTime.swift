public import BLE

/// A date and a time of day, without a time zone.
///
/// The value of the Date Time characteristic (0x2A08) and the type of time stamps in measurements (GATT Specification
/// Supplement, Date Time).
public struct DateTime: Hashable, Codable, ValueCodable {
    /// The year of the Gregorian calendar, 1582 to 9999. Nil if unknown.
    public var year: Int?
    /// The month, 1 (January) to 12. Nil if unknown.
    public var month: Int?
    /// The day of the month, 1 to 31. Nil if unknown.
    public var day: Int?
    /// The hours since midnight, 0 to 23.
    public var hour: Int
    /// The minutes, 0 to 59.
    public var minute: Int
    /// The seconds, 0 to 59.
    public var second: Int

    /// Creates a date and time. Encoding throws if it is invalid.
    public init(year: Int?, month: Int?, day: Int?, hour: Int = 0, minute: Int = 0, second: Int = 0) {
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// Decodes seven bytes, two of them for the year. Throws `invalidValue` for an invalid date or time, such as
    /// February 30.
    public init(from reader: inout ValueReader) throws(BLEError) {
        func known(_ number: some BinaryInteger) -> Int? { number == 0 ? nil : Int(number) }
        year = known(try reader.uint16())
        month = known(try reader.uint8())
        day = known(try reader.uint8())
        hour = Int(try reader.uint8())
        minute = Int(try reader.uint8())
        second = Int(try reader.uint8())
        guard isPossible else { throw reader.invalid("\(self) is not a valid date and time") }
    }

    /// Encodes seven bytes. Unknown parts are 0. Throws `invalidValue` for an invalid date or time.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard isPossible else { throw BLEError(.invalidValue, "\(self) is not a valid date and time") }
        try writer.integer(year ?? 0, .uint16)
        for part in [month ?? 0, day ?? 0, hour, minute, second] { try writer.integer(part, .uint8) }
    }

    /// Whether the date and time are valid. Unknown parts match any number, so February 29 is valid without a year.
    public var isPossible: Bool {
        guard 1582...9999 ~= year ?? 2000, 1...12 ~= month ?? 1, 0...23 ~= hour, 0...59 ~= minute, 0...59 ~= second
        else { return false }
        return 1...Self.dayCount(month: month ?? 1, year: year ?? 2000) ~= day ?? 1
    }

    private static func dayCount(month: Int, year: Int) -> Int {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 2 ? (isLeapYear ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }
}

extension DateTime {
    /// Creates a time from the seconds since the start of 1970, without time zone conversion. Returns nil outside the
    /// years 1582 to 9999.
    public init?(secondsSince1970 seconds: Int) {
        let years: ClosedRange<Int> = 1582...9999
        // The limit prevents overflow in the sums below.
        guard abs(Double(seconds)) < 1e12 else { return nil }
        let ofDay = (seconds % 86400 + 86400) % 86400
        // Counts years from March 1, so that a leap day is the last day of its year. 400 years have 146,097 days.
        let days = (seconds - ofDay) / 86400 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        guard years.contains(year) else { return nil }
        self.init(
            year: year, month: month, day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1,
            hour: ofDay / 3600, minute: ofDay / 60 % 60, second: ofDay % 60)
    }

    /// The seconds since the start of 1970, without time zone conversion. Nil if the date has unknown parts or the time
    /// is invalid.
    public var secondsSince1970: Int? {
        guard isPossible, let year, let month, let day else { return nil }
        let marchYear = month <= 2 ? year - 1 : year
        let era = marchYear / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * 86400 + hour * 3600 + minute * 60 + second
    }

    /// The day of the week. Nil if the date has unknown parts or the time is invalid.
    public var dayOfWeek: DayOfWeek? {
        guard let secondsSince1970 else { return nil }
        // 1970 began on a Thursday, the fourth day of the week. Earlier days have negative numbers.
        let days = (secondsSince1970 - (hour * 3600 + minute * 60 + second)) / 86400
        return DayOfWeek(rawValue: UInt8(((days + 3) % 7 + 7) % 7 + 1))
    }

    /// Returns the time the given number of minutes later. Nil if the date has unknown parts, the time is invalid, or
    /// the result is outside the years 1582 to 9999.
    public func adding(minutes: Int) -> DateTime? {
        let (seconds, isTooLarge) = minutes.multipliedReportingOverflow(by: 60)
        guard let secondsSince1970, !isTooLarge else { return nil }
        let (sum, isTooFar) = secondsSince1970.addingReportingOverflow(seconds)
        return isTooFar ? nil : DateTime(secondsSince1970: sum)
    }
}

extension DateTime: CustomStringConvertible {
    /// The time in ISO 8601 format, such as `2026-02-28T23:59:00`, with `?` for unknown parts.
    public var description: String {
        func digits(_ number: Int?, _ count: Int) -> String {
            guard let number else { return String(repeating: "?", count: count) }
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        let date = [digits(year, 4), digits(month, 2), digits(day, 2)].joined(separator: "-")
        return date + "T" + [hour, minute, second].map { digits($0, 2) }.joined(separator: ":")
    }
}

extension Characteristic where Value == DateTime {
    /// A date and a time, in any service that contains the characteristic.
    public static var dateTime: Self { Characteristic(BluetoothUUID(0x2A08)) }
}
