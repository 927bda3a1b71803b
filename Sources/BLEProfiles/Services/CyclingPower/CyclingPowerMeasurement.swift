public import BLE

/// What a power meter measured (Cycling Power Service 1.1, Cycling Power Measurement).
public struct CyclingPowerMeasurement: Hashable, ValueCodable {
    /// Watts now, -32768 to 32767.
    public var powerWatts: Int
    /// How the power is shared between the pedals; nil when it was not sent.
    public var pedalPowerBalance: PedalPowerBalance?
    /// The torque summed up; nil when it was not sent.
    public var accumulatedTorque: AccumulatedTorque?
    /// Revolutions of the wheel, whose clock begins again after 32 s; nil when they were not sent.
    public var wheelRevolutions: Revolutions?
    /// Revolutions of the crank; nil when they were not sent.
    public var crankRevolutions: Revolutions?
    /// The greatest and least force of a revolution, in newtons; nil when they were not sent.
    public var extremeForcesNewtons: Extremes<Int>?
    /// The greatest and least torque of a revolution, in newton metres with a resolution of 1/32; nil when they were not sent.
    public var extremeTorquesNewtonMeters: Extremes<Double>?
    /// At which angles of the crank these were, in degrees, 0 to 4095; nil when they were not sent.
    public var extremeAnglesDegrees: Extremes<Int>?
    /// The angle of the upper dead spot in degrees; nil when it was not sent.
    public var topDeadSpotDegrees: Int?
    /// The angle of the lower dead spot in degrees; nil when it was not sent.
    public var bottomDeadSpotDegrees: Int?
    /// The energy summed up, in kilojoules; begins again at 65536. Nil when it was not sent.
    public var accumulatedEnergyKilojoules: Int?
    /// Whether the offset should be compensated.
    public var needsOffsetCompensation: Bool

    /// A measurement.
    public init(
        powerWatts: Int, pedalPowerBalance: PedalPowerBalance? = nil, accumulatedTorque: AccumulatedTorque? = nil,
        wheelRevolutions: Revolutions? = nil, crankRevolutions: Revolutions? = nil,
        extremeForcesNewtons: Extremes<Int>? = nil, extremeTorquesNewtonMeters: Extremes<Double>? = nil,
        extremeAnglesDegrees: Extremes<Int>? = nil, topDeadSpotDegrees: Int? = nil, bottomDeadSpotDegrees: Int? = nil,
        accumulatedEnergyKilojoules: Int? = nil, needsOffsetCompensation: Bool = false
    ) {
        self.powerWatts = powerWatts
        self.pedalPowerBalance = pedalPowerBalance
        self.accumulatedTorque = accumulatedTorque
        self.wheelRevolutions = wheelRevolutions
        self.crankRevolutions = crankRevolutions
        self.extremeForcesNewtons = extremeForcesNewtons
        self.extremeTorquesNewtonMeters = extremeTorquesNewtonMeters
        self.extremeAnglesDegrees = extremeAnglesDegrees
        self.topDeadSpotDegrees = topDeadSpotDegrees
        self.bottomDeadSpotDegrees = bottomDeadSpotDegrees
        self.accumulatedEnergyKilojoules = accumulatedEnergyKilojoules
        self.needsOffsetCompensation = needsOffsetCompensation
    }

    /// How the power is shared between the pedals.
    public struct PedalPowerBalance: Hashable, Sendable {
        /// The share of one pedal in percent, 0 to 127.5, with a resolution of 0.5 %.
        public var percent: Double
        /// Whether that is the left pedal; false when it is not known which.
        public var isLeft: Bool

        /// A share.
        public init(percent: Double, isLeft: Bool) {
            self.percent = percent
            self.isLeft = isLeft
        }
    }

    /// The torque summed up, once a revolution.
    public struct AccumulatedTorque: Hashable, Sendable {
        /// Newton metres with a resolution of 1/32; begins again at 2048.
        public var newtonMeters: Double
        /// Whether it is summed up at the crank; at the wheel otherwise.
        public var isAtCrank: Bool

        /// A torque.
        public init(newtonMeters: Double, isAtCrank: Bool) {
            self.newtonMeters = newtonMeters
            self.isAtCrank = isAtCrank
        }
    }

    /// The greatest and the least of something.
    public struct Extremes<Value: Hashable & Sendable>: Hashable, Sendable {
        /// The greatest.
        public var maximum: Value
        /// The least.
        public var minimum: Value

        /// Two extremes.
        public init(maximum: Value, minimum: Value) {
            self.maximum = maximum
            self.minimum = minimum
        }
    }

    /// True: reserved flags may announce more one day.
    public static var ignoresFurtherBytes: Bool { true }
}

extension CyclingPowerMeasurement: RevolutionMeasurement {
    static var wheelFormat: Revolutions.Format { .powerMeterWheel }

    /// The mean speed in metres per second since an earlier measurement, less than 32 s ago.
    ///
    /// Nil when the time of the last revolution is the same in both, as while the wheel stands still or is slow, when the count went back
    /// (it was set, or the wheel rolled back), and when one of the two has no wheel; 0 when that time has moved and the count has not. The
    /// number of revolutions may have begun again in between.
    ///
    /// A sensor repeats itself until the next revolution is complete: keep what was shown, and go to 0 after about 3 s of nil.
    public func speedMetersPerSecond(
        since earlier: CyclingPowerMeasurement, wheelCircumferenceMeters: Double
    ) -> Double? {
        speed(since: earlier, wheelCircumferenceMeters: wheelCircumferenceMeters)
    }

    /// The mean cadence in revolutions per minute since an earlier measurement, less than 64 s ago; nil under the same
    /// conditions, of the crank.
    public func cadencePerMinute(since earlier: CyclingPowerMeasurement) -> Double? {
        cadence(since: earlier)
    }
}
