public import BLE

extension BluetoothUUID {
    /// The Environmental Sensing service.
    public static let environmentalSensing = BluetoothUUID(0x181A)
}

/// The Environmental Sensing service of a weather station or an air quality sensor (Environmental Sensing Service 1.0).
///
/// The peripheral determines which sensors it has. There may be several of a kind:
///
/// ```swift
/// for sensor in try await EnvironmentalSensing(peripheral).sensors(of: .temperature) {
///     print(try await sensor.measurement()?.application ?? .unspecified, try await sensor.value() ?? .nan, "°C")
/// }
/// ```
public struct EnvironmentalSensing: Profile {
    /// 0x181A.
    public static let serviceUUID = BluetoothUUID.environmentalSensing
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the sensors of all quantities (``EnvironmentalQuantity``), in order of handles. Connects and discovers
    /// if necessary.
    public func sensors() async throws(BLEError) -> [EnvironmentalSensor<EnvironmentalValue>] {
        try await service.discover().compactMap { found in
            EnvironmentalQuantity(found.uuid).map { sensor($0.coding, found) }
        }
    }

    /// Returns the sensors of one kind, in order of handles. Empty if there are none. Connects and discovers if
    /// necessary.
    public func sensors<Value>(
        of characteristic: Characteristic<Value>
    ) async throws(BLEError) -> [EnvironmentalSensor<Value>] {
        try await service.discover()[all: characteristic.uuid].map { sensor(characteristic.coding, $0) }
    }

    /// Returns changes of the sensors' descriptors, including those that this central makes.
    public func descriptorChanges() async throws(BLEError) -> NotificationStream<EnvironmentalDescriptorChange> {
        try await service.notifications(.descriptorValueChanged)
    }

    private func sensor<Value>(
        _ coding: ValueCoding<Value>, _ found: GATTCharacteristic
    ) -> EnvironmentalSensor<Value> {
        EnvironmentalSensor(
            peripheral: peripheral,
            characteristic: service.key(Characteristic(coding, found.uuid, handle: found.handle)),
            discovered: found)
    }
}
