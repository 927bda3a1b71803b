internal import BLE

/// Revolutions of a wheel or of a crank, as a sensor counts them: how many, and when the last of them was complete.
///
/// Both numbers begin again at zero when their fields are full.
public struct Revolutions: Hashable, Sendable {
    /// The number of revolutions: of a wheel up to 2^32 - 1, of a crank up to 65535.
    public var count: Int
    /// When the last of them was complete, in seconds by the sensor's clock, which begins again after 64 s; 32 s for the wheel of a
    /// power meter. The resolution is 1/1024 s; 1/2048 s for the wheel of a power meter.
    public var lastEventSeconds: Double

    /// A number of revolutions.
    public init(count: Int, lastEventSeconds: Double) {
        self.count = count
        self.lastEventSeconds = lastEventSeconds
    }

    /// How a kind of revolutions is spelled.
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

    /// Revolutions per second between an earlier count and this one, each number full at most once in between; 0 when the sensor's clock
    /// has moved and the count has not; nil when the clock has not moved, the count went back, or a number is none that its field can hold.
    func perSecond(since earlier: Revolutions, _ format: Format) -> Double? {
        guard format.count.range.contains(count), format.count.range.contains(earlier.count),
            let ticks = ticks(format), let earlierTicks = earlier.ticks(format)
        else { return nil }
        let elapsed = ticks &- earlierTicks
        let countRange = format.count.range.upperBound + 1
        let turned = (count - earlier.count + countRange) % countRange
        // More than half the range is a count that was set back, or a wheel that rolled back.
        guard elapsed > 0, turned < countRange / 2 else { return nil }
        return Double(turned) * format.ticksPerSecond / Double(elapsed)
    }

    private func ticks(_ format: Format) -> UInt16? {
        UInt16(exactly: (lastEventSeconds * format.ticksPerSecond).rounded())
    }
}

/// Revolutions of a wheel and of a crank that come with a measurement, and what two such measurements say together.
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
