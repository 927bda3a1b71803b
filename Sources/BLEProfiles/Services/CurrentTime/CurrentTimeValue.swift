public import BLE

/// What the time is on a device, and why that was adjusted last (Current Time Service 1.1, section 3.1).
public struct CurrentTimeValue: Hashable, ValueCodable {
    /// Why a clock was adjusted.
    public struct AdjustReasons: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Any bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Somebody has set it.
        public static let manual = AdjustReasons(rawValue: 0x01)
        /// A reference has told the time.
        public static let externalReference = AdjustReasons(rawValue: 0x02)
        /// The time zone is another.
        public static let timeZone = AdjustReasons(rawValue: 0x04)
        /// Daylight saving time has begun or ended.
        public static let daylightSavingTime = AdjustReasons(rawValue: 0x08)
    }

    /// The local time.
    public var exactTime: ExactTime256
    /// Why the clock was adjusted.
    public var adjustReasons: AdjustReasons

    /// A time.
    public init(_ exactTime: ExactTime256, adjustReasons: AdjustReasons = []) {
        self.exactTime = exactTime
        self.adjustReasons = adjustReasons
    }

    /// A time to the second, with its day of the week.
    public init(_ time: DateTime, adjustReasons: AdjustReasons = []) {
        self.init(ExactTime256(DayDateTime(time, dayOfWeek: time.dayOfWeek)), adjustReasons: adjustReasons)
    }

    /// The local time, to the second.
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
