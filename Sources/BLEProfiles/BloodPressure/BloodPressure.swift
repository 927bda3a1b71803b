public import BLE

extension BluetoothUUID {
    /// The Blood Pressure service.
    public static let bloodPressure = BluetoothUUID(0x1810)
}

/// The Blood Pressure service of a blood pressure meter (Blood Pressure Service 1.1.1).
public struct BloodPressure: Profile {
    /// 0x1810.
    public static let serviceUUID = BluetoothUUID.bloodPressure
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, each of which is confirmed to the meter. The meter first sends stored
    /// measurements. Keeps the newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<BloodPressureMeasurement> {
        try await service.notifications(.bloodPressureMeasurement)
    }

    /// Returns the cuff pressure during a measurement. Throws `characteristicNotFound` if the meter does not support
    /// it.
    public func intermediateCuffPressures() async throws(BLEError) -> NotificationStream<IntermediateCuffPressure> {
        try await service.notifications(.intermediateCuffPressure)
    }

    /// Returns the measurements from now on, with both kinds of time. Throws `characteristicNotFound` if the meter does
    /// not support them.
    public func enhancedMeasurements() async throws(BLEError) -> NotificationStream<EnhancedBloodPressureMeasurement> {
        try await service.notifications(.enhancedBloodPressureMeasurement)
    }

    /// Returns the cuff pressure during a measurement, with both kinds of time. Throws `characteristicNotFound` if the
    /// meter does not support it.
    public func enhancedIntermediateCuffPressures() async throws(BLEError)
        -> NotificationStream<EnhancedIntermediateCuffPressure>
    {
        try await service.notifications(.enhancedIntermediateCuffPressure)
    }

    /// The features of the meter.
    public func feature() async throws(BLEError) -> BloodPressureFeature {
        try await service.read(.bloodPressureFeature)
    }
}

extension Characteristic where Value == BloodPressureMeasurement {
    /// A measurement. The meter indicates it.
    public static var bloodPressureMeasurement: Self { Characteristic(BluetoothUUID(0x2A35), service: .bloodPressure) }
}

extension Characteristic where Value == IntermediateCuffPressure {
    /// The cuff pressure during a measurement. The meter notifies it.
    public static var intermediateCuffPressure: Self { Characteristic(BluetoothUUID(0x2A36), service: .bloodPressure) }
}

extension Characteristic where Value == BloodPressureFeature {
    /// The features of the meter.
    public static var bloodPressureFeature: Self { Characteristic(BluetoothUUID(0x2A49), service: .bloodPressure) }
}

extension Characteristic where Value == EnhancedBloodPressureMeasurement {
    /// A measurement with both kinds of time. The meter indicates it.
    public static var enhancedBloodPressureMeasurement: Self {
        Characteristic(BluetoothUUID(0x2B34), service: .bloodPressure)
    }
}

extension Characteristic where Value == EnhancedIntermediateCuffPressure {
    /// The cuff pressure during a measurement, with both kinds of time. The meter notifies it.
    public static var enhancedIntermediateCuffPressure: Self {
        Characteristic(BluetoothUUID(0x2B35), service: .bloodPressure)
    }
}

/// The features of a blood pressure meter (GATT Specification Supplement, Blood Pressure Feature).
public struct BloodPressureFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The meter detects body movement.
    public static let bodyMovementDetection = BloodPressureFeature(rawValue: 0x0001)
    /// The meter detects whether the cuff is too loose.
    public static let cuffFitDetection = BloodPressureFeature(rawValue: 0x0002)
    /// The meter detects an irregular pulse.
    public static let irregularPulseDetection = BloodPressureFeature(rawValue: 0x0004)
    /// The meter detects a pulse rate out of range.
    public static let pulseRateRangeDetection = BloodPressureFeature(rawValue: 0x0008)
    /// The meter detects an improper measurement position.
    public static let measurementPositionDetection = BloodPressureFeature(rawValue: 0x0010)
    /// Multiple bonds are supported.
    public static let multipleBonds = BloodPressureFeature(rawValue: 0x0020)
    /// Records contain a checksum.
    public static let endToEndCRC = BloodPressureFeature(rawValue: 0x0040)
    /// The meter has the User Data service.
    public static let userDataService = BloodPressureFeature(rawValue: 0x0080)
    /// The meter sends the time that its user sees.
    public static let userFacingTime = BloodPressureFeature(rawValue: 0x0100)
}

extension BloodPressureFeature: NamedConstants {
    static let names = bits(
        "bodyMovementDetection", "cuffFitDetection", "irregularPulseDetection", "pulseRateRangeDetection",
        "measurementPositionDetection", "multipleBonds", "endToEndCRC", "userDataService", "userFacingTime")
}
