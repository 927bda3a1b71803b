public import BLE

/// The pressure in the cuff while a blood pressure is measured (GATT Specification Supplement, Intermediate Cuff Pressure).
public struct IntermediateCuffPressure: Hashable, ValueCodable {
    /// The pressure as it was sent.
    public var pressure: MedFloat16
    /// The unit of the pressure.
    public var unit: PressureUnit
    /// When it was measured; nil when that was not sent.
    public var timeStamp: DateTime?
    /// Beats per minute; nil when they were not sent.
    public var pulseRate: MedFloat16?
    /// Whose it is; nil when that was not sent.
    public var user: UserIndex?
    /// What the meter noticed; nil when that was not sent.
    public var status: BloodPressureStatus?

    /// A pressure.
    public init(
        _ pressure: MedFloat16, unit: PressureUnit = .millimetersOfMercury, timeStamp: DateTime? = nil,
        pulseRate: MedFloat16? = nil, user: UserIndex? = nil, status: BloodPressureStatus? = nil
    ) {
        self.pressure = pressure
        self.unit = unit
        self.timeStamp = timeStamp
        self.pulseRate = pulseRate
        self.user = user
        self.status = status
    }

    /// A measurement of which the first pressure is the cuff's, and the others are not used.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let measurement = try BloodPressureMeasurement(from: &reader)
        self.init(
            measurement.pressures.systolic, unit: measurement.pressures.unit, timeStamp: measurement.timeStamp,
            pulseRate: measurement.pulseRate, user: measurement.user, status: measurement.status)
    }

    /// The same; the others are not a number.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let pressures = BloodPressures(systolic: pressure, diastolic: .nan, meanArterial: .nan, unit: unit)
        try BloodPressureMeasurement(
            pressures, timeStamp: timeStamp, pulseRate: pulseRate, user: user, status: status
        ).encode(into: &writer)
    }

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }
}
