public import BLE

extension BluetoothUUID {
    /// The Cycling Power service.
    public static let cyclingPower = BluetoothUUID(0x1818)
}

/// The Cycling Power service of a power meter or a trainer (Cycling Power Service 1.1).
///
/// ``controlPoint`` has the procedures that adjust and calibrate it.
public struct CyclingPower: Profile {
    /// 0x1818.
    public static let serviceUUID = BluetoothUUID.cyclingPower
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, about one a second. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<CyclingPowerMeasurement> {
        try await service.notifications(.cyclingPowerMeasurement)
    }

    /// The forces or torques of each revolution from now on.
    ///
    /// Throws `characteristicNotFound` for a power meter that has none, and `attributeError` with
    /// ``BLE/ATTError/cyclingPowerInappropriateConnectionParameters`` when the link is too slow for them.
    public func vectors() async throws(BLEError) -> NotificationStream<CyclingPowerVector> {
        try await service.notifications(.cyclingPowerVector)
    }

    /// What the power meter can do.
    public func feature() async throws(BLEError) -> CyclingPowerFeature {
        try await service.read(.cyclingPowerFeature)
    }

    /// Where the sensor sits; nil when it does not say.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The procedures that adjust and calibrate it.
    public var controlPoint: CyclingPowerControlPoint { CyclingPowerControlPoint(of: service) }
}

extension Characteristic where Value == CyclingPowerMeasurement {
    /// A measurement, notified about once a second.
    public static var cyclingPowerMeasurement: Self { Characteristic(BluetoothUUID(0x2A63), service: .cyclingPower) }
}

extension Characteristic where Value == CyclingPowerVector {
    /// Forces or torques of a revolution.
    public static var cyclingPowerVector: Self { Characteristic(BluetoothUUID(0x2A64), service: .cyclingPower) }
}

extension Characteristic where Value == CyclingPowerFeature {
    /// What the power meter can do.
    public static var cyclingPowerFeature: Self { Characteristic(BluetoothUUID(0x2A65), service: .cyclingPower) }
}

extension ATTError {
    /// What a power meter answers to a subscription to its vectors when the link is too slow for them.
    public static let cyclingPowerInappropriateConnectionParameters = ATTError(rawValue: 0x80)
}
