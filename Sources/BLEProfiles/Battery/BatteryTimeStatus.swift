public import BLE

/// The remaining times of a battery (GATT Specification Supplement, Battery Time Status).
public struct BatteryTimeStatus: Hashable, Codable, ValueCodable {
    /// An estimated number of minutes.
    public enum Estimate: Hashable, Codable, Sendable {
        /// The given number of minutes, 0 to 16,777,213.
        case minutes(Int)
        /// More than 16,777,213 minutes.
        case longer

        private enum MinutesCodingKeys: String, CodingKey {
            case _0 = "count"
        }
    }

    /// The time until the battery is empty. Nil if unknown.
    public var untilDischarged: Estimate?
    /// The time until the battery is empty if the device is always in standby. Nil if unknown or not sent.
    public var untilDischargedOnStandby: Estimate?
    /// The time until the battery is full. Nil if unknown or not sent.
    public var untilRecharged: Estimate?

    /// Creates a status. Values are unknown by default.
    public init(
        untilDischarged: Estimate? = nil, untilDischargedOnStandby: Estimate? = nil, untilRecharged: Estimate? = nil
    ) {
        self.untilDischarged = untilDischarged
        self.untilDischargedOnStandby = untilDischargedOnStandby
        self.untilRecharged = untilRecharged
    }

    /// Decodes flags, the time until the battery is empty, and the fields that the flags announce, three bytes each.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        untilDischarged = try Self.estimate(&reader)
        untilDischargedOnStandby = flags & 0x01 != 0 ? try Self.estimate(&reader) : nil
        untilRecharged = flags & 0x02 != 0 ? try Self.estimate(&reader) : nil
    }

    /// Encodes the status. Unknown optional values are omitted.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((untilDischargedOnStandby != nil ? 0x01 : 0) | (untilRecharged != nil ? 0x02 : 0))
        try Self.write(untilDischarged, &writer)
        if untilDischargedOnStandby != nil { try Self.write(untilDischargedOnStandby, &writer) }
        if untilRecharged != nil { try Self.write(untilRecharged, &writer) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private static let most = 0xFF_FFFD

    private static func estimate(_ reader: inout ValueReader) throws(BLEError) -> Estimate? {
        switch Int(try reader.uint24()) {
        case 0xFF_FFFF: nil
        case 0xFF_FFFE: .longer
        case let minutes: .minutes(minutes)
        }
    }

    private static func write(_ estimate: Estimate?, _ writer: inout ValueWriter) throws(BLEError) {
        switch estimate {
        case nil: try writer.integer(0xFF_FFFF, .uint24)
        case .longer: try writer.integer(0xFF_FFFE, .uint24)
        case .minutes(let minutes):
            guard 0...most ~= minutes else {
                throw BLEError(.invalidValue, "\(minutes) minutes are not in the range 0 to \(most)")
            }
            try writer.integer(minutes, .uint24)
        }
    }
}
