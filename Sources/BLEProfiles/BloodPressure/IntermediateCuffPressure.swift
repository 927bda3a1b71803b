public import BLE

/// The cuff pressure during a measurement (GATT Specification Supplement, Intermediate Cuff Pressure).
public struct IntermediateCuffPressure: Hashable, Codable, ValueCodable {
    /// The pressure, as sent.
    public var pressure: MedFloat16
    /// The unit of the pressure.
    public var unit: PressureUnit
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// The pulse rate in beats per minute. Nil if not sent.
    public var pulseRateBeatsPerMinute: MedFloat16?
    /// The user that was measured. Nil if not sent.
    public var user: UserIndex?
    /// The status of the measurement. Nil if not sent.
    public var status: BloodPressureStatus?

    /// Creates a pressure.
    public init(
        _ pressure: MedFloat16, unit: PressureUnit = .millimetersOfMercury, timeStamp: DateTime? = nil,
        pulseRateBeatsPerMinute: MedFloat16? = nil, user: UserIndex? = nil, status: BloodPressureStatus? = nil
    ) {
        self.pressure = pressure
        self.unit = unit
        self.timeStamp = timeStamp
        self.pulseRateBeatsPerMinute = pulseRateBeatsPerMinute
        self.user = user
        self.status = status
    }

    /// Decodes a measurement whose first pressure is the cuff pressure. The other two are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let measurement = try BloodPressureMeasurement(from: &reader)
        self.init(
            measurement.pressures.systolic, unit: measurement.pressures.unit, timeStamp: measurement.timeStamp,
            pulseRateBeatsPerMinute: measurement.pulseRateBeatsPerMinute, user: measurement.user,
            status: measurement.status)
    }

    /// Encodes a measurement whose first pressure is the cuff pressure. The other two are NaN.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let pressures = BloodPressures(systolic: pressure, diastolic: .nan, meanArterial: .nan, unit: unit)
        try BloodPressureMeasurement(
            pressures, timeStamp: timeStamp, pulseRateBeatsPerMinute: pulseRateBeatsPerMinute, user: user,
            status: status
        ).encode(into: &writer)
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}
