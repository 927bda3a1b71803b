public import BLE

extension BluetoothUUID {
    /// The Blood Pressure service.
    public static let bloodPressure = BluetoothUUID(0x1810)
}

/// The Blood Pressure service of a blood pressure meter (Blood Pressure Service 1.1.1).
public struct BloodPressure: Profile {
    /// 0x1810.
    public static let serviceUUID = BluetoothUUID.bloodPressure
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, each confirmed to the meter, which sends what it has stored first. Keeps the newest 256 that are
    /// not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<BloodPressureMeasurement> {
        try await service.notifications(.bloodPressureMeasurement)
    }

    /// The pressure in the cuff while it measures; `characteristicNotFound` when it does not send that.
    public func intermediateCuffPressures() async throws(BLEError) -> NotificationStream<IntermediateCuffPressure> {
        try await service.notifications(.intermediateCuffPressure)
    }

    /// The measurements from now on with two kinds of time; `characteristicNotFound` where the meter is older than that.
    public func enhancedMeasurements() async throws(BLEError) -> NotificationStream<EnhancedBloodPressureMeasurement> {
        try await service.notifications(.enhancedBloodPressureMeasurement)
    }

    /// The pressure in the cuff while it measures, with two kinds of time; `characteristicNotFound` when it does not send that.
    public func enhancedIntermediateCuffPressures() async throws(BLEError)
        -> NotificationStream<EnhancedIntermediateCuffPressure>
    {
        try await service.notifications(.enhancedIntermediateCuffPressure)
    }

    /// What the meter can tell.
    public func feature() async throws(BLEError) -> BloodPressureFeature {
        try await service.read(.bloodPressureFeature)
    }
}

extension Characteristic where Value == BloodPressureMeasurement {
    /// A measurement, indicated.
    public static var bloodPressureMeasurement: Self { Characteristic(BluetoothUUID(0x2A35), service: .bloodPressure) }
}

extension Characteristic where Value == IntermediateCuffPressure {
    /// The pressure in the cuff while it measures, notified.
    public static var intermediateCuffPressure: Self { Characteristic(BluetoothUUID(0x2A36), service: .bloodPressure) }
}

extension Characteristic where Value == BloodPressureFeature {
    /// What the meter can tell.
    public static var bloodPressureFeature: Self { Characteristic(BluetoothUUID(0x2A49), service: .bloodPressure) }
}

extension Characteristic where Value == EnhancedBloodPressureMeasurement {
    /// A measurement with two kinds of time, indicated.
    public static var enhancedBloodPressureMeasurement: Self {
        Characteristic(BluetoothUUID(0x2B34), service: .bloodPressure)
    }
}

extension Characteristic where Value == EnhancedIntermediateCuffPressure {
    /// The pressure in the cuff while it measures, with two kinds of time, notified.
    public static var enhancedIntermediateCuffPressure: Self {
        Characteristic(BluetoothUUID(0x2B35), service: .bloodPressure)
    }
}

/// What a blood pressure meter can tell (GATT Specification Supplement, Blood Pressure Feature).
public struct BloodPressureFeature: OptionSet, Hashable, ValueCodable {
    /// The bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// That the body moved.
    public static let bodyMovementDetection = BloodPressureFeature(rawValue: 0x0001)
    /// That the cuff is too loose.
    public static let cuffFitDetection = BloodPressureFeature(rawValue: 0x0002)
    /// That the pulse is irregular.
    public static let irregularPulseDetection = BloodPressureFeature(rawValue: 0x0004)
    /// That the pulse is too fast or too slow.
    public static let pulseRateRangeDetection = BloodPressureFeature(rawValue: 0x0008)
    /// That it is held in the wrong place.
    public static let measurementPositionDetection = BloodPressureFeature(rawValue: 0x0010)
    /// It has several bonds at a time.
    public static let multipleBonds = BloodPressureFeature(rawValue: 0x0020)
    /// Its records carry a check sum.
    public static let endToEndCRC = BloodPressureFeature(rawValue: 0x0040)
    /// It has the User Data service.
    public static let userDataService = BloodPressureFeature(rawValue: 0x0080)
    /// It tells the time that its user sees.
    public static let userFacingTime = BloodPressureFeature(rawValue: 0x0100)
}

extension BloodPressureFeature: NamedConstants {
    static let names = bits(
        "bodyMovementDetection", "cuffFitDetection", "irregularPulseDetection", "pulseRateRangeDetection",
        "measurementPositionDetection", "multipleBonds", "endToEndCRC", "userDataService", "userFacingTime")
}
