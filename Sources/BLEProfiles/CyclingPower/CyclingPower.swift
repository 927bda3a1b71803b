public import BLE

extension BluetoothUUID {
    /// The Cycling Power service.
    public static let cyclingPower = BluetoothUUID(0x1818)
}

/// The Cycling Power service of a power meter or a trainer (Cycling Power Service 1.1).
///
/// ``controlPoint`` performs the procedures that adjust and calibrate the device.
public struct CyclingPower: Profile {
    /// 0x1818.
    public static let serviceUUID = BluetoothUUID.cyclingPower
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, about one per second. Keeps the newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<CyclingPowerMeasurement> {
        try await service.notifications(.cyclingPowerMeasurement)
    }

    /// Returns the forces or torques of each revolution from now on.
    ///
    /// Throws `characteristicNotFound` if the power meter does not support vectors, and `attributeError` with
    /// ``BLE/ATTError/cyclingPowerInappropriateConnectionParameters`` if the connection is too slow for them.
    public func vectors() async throws(BLEError) -> NotificationStream<CyclingPowerVector> {
        try await service.notifications(.cyclingPowerVector)
    }

    /// The features of the power meter.
    public func feature() async throws(BLEError) -> CyclingPowerFeature {
        try await service.read(.cyclingPowerFeature)
    }

    /// Returns the location of the sensor. Nil if the sensor does not have the characteristic.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The control point, whose procedures adjust and calibrate the power meter.
    public var controlPoint: CyclingPowerControlPoint { CyclingPowerControlPoint(of: service) }
}

extension Characteristic where Value == CyclingPowerMeasurement {
    /// A measurement, notified about once a second.
    public static var cyclingPowerMeasurement: Self { Characteristic(BluetoothUUID(0x2A63), service: .cyclingPower) }
}

extension Characteristic where Value == CyclingPowerVector {
    /// The forces or torques of a revolution.
    public static var cyclingPowerVector: Self { Characteristic(BluetoothUUID(0x2A64), service: .cyclingPower) }
}

extension Characteristic where Value == CyclingPowerFeature {
    /// The features of the power meter.
    public static var cyclingPowerFeature: Self { Characteristic(BluetoothUUID(0x2A65), service: .cyclingPower) }
}

extension ATTError {
    /// The connection is too slow for a subscription to vectors.
    public static let cyclingPowerInappropriateConnectionParameters = ATTError(rawValue: 0x80)
}
