internal import BLE

/// The revolutions of a wheel or a crank: their number, and the time at which the last one was complete.
///
/// Both numbers wrap around to zero.
public struct Revolutions: Hashable, Codable, Sendable {
    /// The number of revolutions: for a wheel up to 2^32 - 1, for a crank up to 65535.
    public var count: Int
    /// The time at which the last revolution was complete, in seconds of the sensor's clock.
    ///
    /// The clock wraps around after 64 s and has a resolution of 1/1024 s. For the wheel of a power meter, these are 32
    /// s and 1/2048 s.
    public var lastEventSeconds: Double

    /// Creates a number of revolutions.
    public init(count: Int, lastEventSeconds: Double) {
        self.count = count
        self.lastEventSeconds = lastEventSeconds
    }

    /// The encoding of wheel or crank revolutions.
    struct Format {
        let count: IntegerFormat
        let ticksPerSecond: Double

        static let wheel = Format(count: .uint32, ticksPerSecond: 1024)
        static let crank = Format(count: .uint16, ticksPerSecond: 1024)
        static let powerMeterWheel = Format(count: .uint32, ticksPerSecond: 2048)
    }

    init(from reader: inout ValueReader, _ format: Format) throws(BLEError) {
        count = try reader.integer(format.count)
        lastEventSeconds = Double(try reader.uint16()) / format.ticksPerSecond
    }

    func encode(into writer: inout ValueWriter, _ format: Format) throws(BLEError) {
        try writer.integer(count, format.count)
        try writer.rounded(lastEventSeconds * format.ticksPerSecond, .uint16)
    }

    /// Returns the revolutions per second between an earlier count and this one, with at most one wrap-around of each
    /// number.
    ///
    /// 0 if the sensor's clock advanced and the count did not. Nil if the clock did not advance, the count decreased,
    /// or a number is out of range.
    func perSecond(since earlier: Revolutions, _ format: Format) -> Double? {
        guard format.count.range.contains(count), format.count.range.contains(earlier.count),
            let ticks = ticks(format), let earlierTicks = earlier.ticks(format)
        else { return nil }
        let elapsed = ticks &- earlierTicks
        let countRange = format.count.range.upperBound + 1
        let turned = (count - earlier.count + countRange) % countRange
        // More than half of the range means that the count was set back, or that the wheel rolled back.
        guard elapsed > 0, turned < countRange / 2 else { return nil }
        return Double(turned) * format.ticksPerSecond / Double(elapsed)
    }

    private func ticks(_ format: Format) -> UInt16? {
        UInt16(exactly: (lastEventSeconds * format.ticksPerSecond).rounded())
    }
}

/// A measurement with wheel and crank revolutions, and the values calculated from two such measurements.
protocol RevolutionMeasurement {
    var wheelRevolutions: Revolutions? { get }
    var crankRevolutions: Revolutions? { get }
    static var wheelFormat: Revolutions.Format { get }
}

extension RevolutionMeasurement {
    func speed(since earlier: Self, wheelCircumferenceMeters: Double) -> Double? {
        guard let wheelRevolutions, let before = earlier.wheelRevolutions else { return nil }
        return wheelRevolutions.perSecond(since: before, Self.wheelFormat).map { $0 * wheelCircumferenceMeters }
    }

    func cadence(since earlier: Self) -> Double? {
        guard let crankRevolutions, let before = earlier.crankRevolutions else { return nil }
        return crankRevolutions.perSecond(since: before, .crank).map { $0 * 60 }
    }
}
