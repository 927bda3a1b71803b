public import BLE

/// The time of a device, and the reason for its last adjustment (Current Time Service 1.1, section 3.1).
public struct CurrentTimeValue: Hashable, Codable, ValueCodable {
    /// The reasons for the adjustment of a clock.
    public struct AdjustReasons: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The time was set manually.
        public static let manual = AdjustReasons(rawValue: 0x01)
        /// The time was set from an external reference.
        public static let externalReference = AdjustReasons(rawValue: 0x02)
        /// The time zone changed.
        public static let timeZone = AdjustReasons(rawValue: 0x04)
        /// Daylight saving time began or ended.
        public static let daylightSavingTime = AdjustReasons(rawValue: 0x08)
    }

    /// The local time.
    public var exactTime: ExactTime256
    /// The reasons for the last adjustment.
    public var adjustReasons: AdjustReasons

    /// Creates a time.
    public init(_ exactTime: ExactTime256, adjustReasons: AdjustReasons = []) {
        self.exactTime = exactTime
        self.adjustReasons = adjustReasons
    }

    /// Creates a time with a resolution of a second, and its day of the week.
    public init(_ time: DateTime, adjustReasons: AdjustReasons = []) {
        self.init(ExactTime256(DayDateTime(time, dayOfWeek: time.dayOfWeek)), adjustReasons: adjustReasons)
    }

    /// The local time, with a resolution of a second.
    public var dateTime: DateTime { exactTime.dayDateTime.dateTime }

    /// Ten bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        exactTime = try ExactTime256(from: &reader)
        adjustReasons = try reader.raw()
    }

    /// Ten bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try exactTime.encode(into: &writer)
        writer.raw(adjustReasons)
    }
}

extension CurrentTimeValue.AdjustReasons: NamedConstants {
    static let names = bits("manual", "externalReference", "timeZone", "daylightSavingTime")
}
