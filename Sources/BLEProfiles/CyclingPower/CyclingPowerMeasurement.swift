public import BLE

/// A measurement of a power meter (Cycling Power Service 1.1, Cycling Power Measurement).
public struct CyclingPowerMeasurement: Hashable, Codable, ValueCodable {
    /// The current power in watts, -32768 to 32767.
    public var powerWatts: Int
    /// The balance between the pedals. Nil if not sent.
    public var pedalPowerBalance: PedalPowerBalance?
    /// The accumulated torque. Nil if not sent.
    public var accumulatedTorque: AccumulatedTorque?
    /// The wheel revolutions, whose clock wraps around after 32 s. Nil if not sent.
    public var wheelRevolutions: Revolutions?
    /// The crank revolutions. Nil if not sent.
    public var crankRevolutions: Revolutions?
    /// The maximum and minimum force of a revolution, in newtons. Nil if not sent.
    public var extremeForcesNewtons: Extremes<Int>?
    /// The maximum and minimum torque of a revolution, in newton meters with a resolution of 1/32. Nil if not sent.
    public var extremeTorquesNewtonMeters: Extremes<Double>?
    /// The crank angles of the maximum and the minimum, in degrees, 0 to 4095. Nil if not sent.
    public var extremeAnglesDegrees: Extremes<Int>?
    /// The angle of the top dead spot in degrees. Nil if not sent.
    public var topDeadSpotDegrees: Int?
    /// The angle of the bottom dead spot in degrees. Nil if not sent.
    public var bottomDeadSpotDegrees: Int?
    /// The accumulated energy in kilojoules, which wraps around at 65536. Nil if not sent.
    public var accumulatedEnergyKilojoules: Int?
    /// Whether the offset should be compensated.
    public var needsOffsetCompensation: Bool

    /// Creates a measurement.
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

    /// The balance of power between the pedals.
    public struct PedalPowerBalance: Hashable, Codable, Sendable {
        /// The share of one pedal in percent, 0 to 127.5, with a resolution of 0.5 %.
        public var percent: Double
        /// Whether the share is that of the left pedal. False if the pedal is unknown.
        public var isLeft: Bool

        /// Creates a share.
        public init(percent: Double, isLeft: Bool) {
            self.percent = percent
            self.isLeft = isLeft
        }
    }

    /// The torque accumulated over revolutions.
    public struct AccumulatedTorque: Hashable, Codable, Sendable {
        /// The torque in newton meters, with a resolution of 1/32. Wraps around at 2048.
        public var newtonMeters: Double
        /// Whether the torque is measured at the crank. If false, it is measured at the wheel.
        public var isAtCrank: Bool

        /// Creates a torque.
        public init(newtonMeters: Double, isAtCrank: Bool) {
            self.newtonMeters = newtonMeters
            self.isAtCrank = isAtCrank
        }
    }

    /// A maximum and a minimum.
    public struct Extremes<Value: Hashable & Codable & Sendable>: Hashable, Codable, Sendable {
        /// The maximum.
        public var maximum: Value
        /// The minimum.
        public var minimum: Value

        /// Creates extremes.
        public init(maximum: Value, minimum: Value) {
            self.maximum = maximum
            self.minimum = minimum
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

extension CyclingPowerMeasurement: RevolutionMeasurement {
    static var wheelFormat: Revolutions.Format { .powerMeterWheel }

    /// Returns the mean speed in meters per second since an earlier measurement, less than 32 s ago.
    ///
    /// Nil if the time of the last revolution is the same in both measurements, such as when the wheel is stopped or
    /// slow; if the count decreased, because it was set or the wheel rolled back; or if either measurement has no wheel
    /// revolutions. 0 if the time changed but the count did not. Handles wraparound of the count.
    ///
    /// A sensor repeats its values until the next revolution is complete. Keep showing the last speed, and show 0 after
    /// about 3 s of nil.
    public func speedMetersPerSecond(
        since earlier: CyclingPowerMeasurement, wheelCircumferenceMeters: Double
    ) -> Double? {
        speed(since: earlier, wheelCircumferenceMeters: wheelCircumferenceMeters)
    }

    /// Returns the mean cadence in revolutions per minute since an earlier measurement, less than 64 s ago. Nil under
    /// the same conditions, applied to the crank.
    public func cadencePerMinute(since earlier: CyclingPowerMeasurement) -> Double? {
        cadence(since: earlier)
    }
}
