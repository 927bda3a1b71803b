public import BLE

/// A day of the week (GATT Specification Supplement, Day of Week).
public enum DayOfWeek: UInt8, Hashable, Codable, Sendable, CaseIterable {
    /// The first day.
    case monday = 1
    /// The second.
    case tuesday
    /// The third.
    case wednesday
    /// The fourth.
    case thursday
    /// The fifth.
    case friday
    /// The sixth.
    case saturday
    /// The last.
    case sunday
}

/// A date, a time of day and the day of the week (GATT Specification Supplement, Day Date Time).
public struct DayDateTime: Hashable, Codable, ValueCodable {
    /// The date and the time of day.
    public var dateTime: DateTime
    /// The day of the week. Nil if unknown.
    public var dayOfWeek: DayOfWeek?

    /// Creates a date and a time.
    public init(_ dateTime: DateTime, dayOfWeek: DayOfWeek? = nil) {
        self.dateTime = dateTime
        self.dayOfWeek = dayOfWeek
    }

    /// Decodes eight bytes. A reserved day of the week is unknown.
    public init(from reader: inout ValueReader) throws(BLEError) {
        dateTime = try DateTime(from: &reader)
        dayOfWeek = DayOfWeek(rawValue: try reader.uint8())
    }

    /// Eight bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try dateTime.encode(into: &writer)
        writer.uint8(dayOfWeek?.rawValue ?? 0)
    }
}

/// A date and a time with a resolution of 1/256 of a second (GATT Specification Supplement, Exact Time 256).
public struct ExactTime256: Hashable, Codable, ValueCodable {
    /// The date, the time of day and the day of the week.
    public var dayDateTime: DayDateTime
    /// The fraction of the second, in 1/256 of a second.
    public var fractions256: UInt8

    /// Creates an exact time.
    public init(_ dayDateTime: DayDateTime, fractions256: UInt8 = 0) {
        self.dayDateTime = dayDateTime
        self.fractions256 = fractions256
    }

    /// Nine bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        dayDateTime = try DayDateTime(from: &reader)
        fractions256 = try reader.uint8()
    }

    /// Nine bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try dayDateTime.encode(into: &writer)
        writer.uint8(fractions256)
    }
}

extension Characteristic where Value == DayDateTime {
    /// A date, a time of day and the day of the week, in any service that contains the characteristic.
    public static var dayDateTime: Self { Characteristic(BluetoothUUID(0x2A0A)) }
}

extension Characteristic where Value == ExactTime256 {
    /// An exact time, in any service that contains the characteristic.
    public static var exactTime256: Self { Characteristic(BluetoothUUID(0x2A0C)) }
}
