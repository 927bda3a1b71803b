public import BLE

extension BluetoothUUID {
    /// The Environmental Sensing service.
    public static let environmentalSensing = BluetoothUUID(0x181A)
}

/// The Environmental Sensing service of a weather station, an air quality sensor or the like (Environmental Sensing Service 1.0).
///
/// The peripheral says which sensors it has, perhaps several of a kind:
///
/// ```swift
/// for sensor in try await EnvironmentalSensing(peripheral).sensors(of: .temperature) {
///     print(try await sensor.measurement()?.application ?? .unspecified, try await sensor.value() ?? .nan, "°C")
/// }
/// ```
public struct EnvironmentalSensing: Profile {
    /// 0x181A.
    public static let serviceUUID = BluetoothUUID.environmentalSensing
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The sensors of every ``EnvironmentalQuantity``, in order of handles. Connects and discovers as needed.
    public func sensors() async throws(BLEError) -> [EnvironmentalSensor<EnvironmentalValue>] {
        try await service.discovered().compactMap { found in
            EnvironmentalQuantity(found.uuid).map { sensor($0.coding, found) }
        }
    }

    /// The sensors of one kind, in order of handles; none where the peripheral has none. Connects and discovers as needed.
    public func sensors<Value>(
        of characteristic: Characteristic<Value>
    ) async throws(BLEError) -> [EnvironmentalSensor<Value>] {
        try await service.discovered()[all: characteristic.uuid].map { sensor(characteristic.coding, $0) }
    }

    /// Changes to descriptors of the sensors, the central's own included.
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
