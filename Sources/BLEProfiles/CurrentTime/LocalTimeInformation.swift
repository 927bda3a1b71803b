public import BLE

/// The offset of local time from UTC (Current Time Service 1.1, section 3.2).
public struct LocalTimeInformation: Hashable, Codable, ValueCodable {
    /// The time zone, without daylight saving time.
    public var timeZone: TimeZoneOffset
    /// The offset of daylight saving time.
    public var dstOffset: DSTOffset

    /// Creates an offset from UTC.
    public init(timeZone: TimeZoneOffset, dstOffset: DSTOffset) {
        self.timeZone = timeZone
        self.dstOffset = dstOffset
    }

    /// The offset of local time from UTC in minutes. Nil unless both parts are known.
    public var minutesFromUTC: Int? {
        guard let zone = timeZone.minutes, let saving = dstOffset.minutes else { return nil }
        return zone + saving
    }

    /// Two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        timeZone = try TimeZoneOffset(from: &reader)
        dstOffset = try reader.raw()
    }

    /// Two bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try timeZone.encode(into: &writer)
        writer.raw(dstOffset)
    }
}

/// A time zone, as the offset of its standard time from UTC (GATT Specification Supplement, Time Zone).
public struct TimeZoneOffset: Hashable, Codable, ValueCodable {
    /// The offset in minutes, -720 to 840, in steps of 15. Nil if unknown.
    public var minutes: Int?

    /// Creates a time zone.
    public init(minutes: Int?) {
        self.minutes = minutes
    }

    /// Decodes one byte, in quarters of an hour. -128 and reserved numbers are unknown.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let quarters = Int(try reader.int8())
        minutes = -48...56 ~= quarters ? quarters * 15 : nil
    }

    /// Encodes one byte. Throws `invalidValue` if the offset is out of range or not a multiple of 15 minutes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard let minutes else { return try writer.integer(-128, .int8) }
        guard -720...840 ~= minutes, minutes % 15 == 0 else {
            throw BLEError(.invalidValue, "\(minutes) minutes are not a time zone of -720 to 840, in steps of 15")
        }
        try writer.integer(minutes / 15, .int8)
    }
}

/// The offset of daylight saving time from standard time (GATT Specification Supplement, DST Offset). Other numbers are
/// reserved.
public struct DSTOffset: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number, in quarters of an hour, except for ``unknown``.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No offset.
    public static let standardTime = DSTOffset(rawValue: 0)
    /// Half an hour.
    public static let halfAnHour = DSTOffset(rawValue: 2)
    /// An hour.
    public static let daylightTime = DSTOffset(rawValue: 4)
    /// Two hours.
    public static let doubleDaylightTime = DSTOffset(rawValue: 8)
    /// Unknown.
    public static let unknown = DSTOffset(rawValue: 255)

    /// The offset in minutes. Nil if unknown or reserved.
    public var minutes: Int? {
        [.standardTime, .halfAnHour, .daylightTime, .doubleDaylightTime].contains(self) ? Int(rawValue) * 15 : nil
    }
}

extension DSTOffset: NamedConstants {
    static let names: [UInt8: String] = [
        0: "standardTime", 2: "halfAnHour", 4: "daylightTime", 8: "doubleDaylightTime", 255: "unknown",
    ]
}

extension Characteristic where Value == TimeZoneOffset {
    /// A time zone, in any service that contains the characteristic.
    public static var timeZone: Self { Characteristic(BluetoothUUID(0x2A0E)) }
}

extension Characteristic where Value == DSTOffset {
    /// The offset of daylight saving time, in any service that contains the characteristic.
    public static var dstOffset: Self { Characteristic(BluetoothUUID(0x2A0D)) }
}
