public import BLE

/// How long a battery lasts (GATT Specification Supplement, Battery Time Status).
public struct BatteryTimeStatus: Hashable, ValueCodable {
    /// An estimate in minutes.
    public enum Estimate: Hashable, Sendable {
        /// So many, 0 to 16,777,213.
        case minutes(Int)
        /// More than 16,777,213.
        case longer
    }

    /// Until it is empty; nil when that is not known.
    public var untilDischarged: Estimate?
    /// Until it is empty if the device stands by all the time; nil when that is not known or was not sent.
    public var untilDischargedOnStandby: Estimate?
    /// Until it is full; nil when that is not known or was not sent.
    public var untilRecharged: Estimate?

    /// A status. What is not given is not known.
    public init(
        untilDischarged: Estimate? = nil, untilDischargedOnStandby: Estimate? = nil, untilRecharged: Estimate? = nil
    ) {
        self.untilDischarged = untilDischarged
        self.untilDischargedOnStandby = untilDischargedOnStandby
        self.untilRecharged = untilRecharged
    }

    /// Flags, the time until it is empty, and what the flags announce, each in three bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        untilDischarged = try Self.estimate(&reader)
        untilDischargedOnStandby = flags & 0x01 != 0 ? try Self.estimate(&reader) : nil
        untilRecharged = flags & 0x02 != 0 ? try Self.estimate(&reader) : nil
    }

    /// The same, without what is not known where it can be left out.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((untilDischargedOnStandby != nil ? 0x01 : 0) | (untilRecharged != nil ? 0x02 : 0))
        try Self.write(untilDischarged, &writer)
        if untilDischargedOnStandby != nil { try Self.write(untilDischargedOnStandby, &writer) }
        if untilRecharged != nil { try Self.write(untilRecharged, &writer) }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }

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
