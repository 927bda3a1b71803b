public import BLE

extension BluetoothUUID {
    /// The Battery service.
    public static let battery = BluetoothUUID(0x180F)
}

/// The Battery service of a device (Battery Service 1.1).
///
/// A device with several batteries has the service several times:
///
/// ```swift
/// for battery in try await Battery.all(on: peripheral) {
///     print(try await battery.position() ?? .unknown, try await battery.level(), "%")
/// }
/// ```
public struct Battery: Profile {
    /// 0x180F.
    public static let serviceUUID = BluetoothUUID.battery
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the charge in percent, 0 to 100. Connects and discovers if necessary.
    public func level() async throws(BLEError) -> UInt8 {
        try await service.read(.batteryLevel)
    }

    /// Returns the charge in percent, 0 to 100, whenever the device notifies it. Throws `notSupported` if it does not
    /// notify.
    public func levels() async throws(BLEError) -> NotificationStream<UInt8> {
        try await service.notifications(.batteryLevel)
    }

    /// Returns the position of the battery, from the presentation format of its level (section 3.1.2.1). Nil if the
    /// device has no such descriptor, which is optional for a single battery.
    public func position() async throws(BLEError) -> PresentationFormat.Description? {
        let level = service.key(.batteryLevel).key
        return try await peripheral.presentationFormat(of: level).flatMap {
            $0.namespace == .bluetoothSIG ? $0.description : nil
        }
    }

    /// Returns the state of power and charging. Nil if the device does not have the characteristic.
    public func levelStatus() async throws(BLEError) -> BatteryLevelStatus? {
        try await service.readIfPresent(.batteryLevelStatus)
    }

    /// Returns the state of power and charging whenever it changes.
    public func levelStatuses() async throws(BLEError) -> NotificationStream<BatteryLevelStatus> {
        try await service.notifications(.batteryLevelStatus)
    }
}

extension Characteristic where Value == UInt8 {
    /// The battery's charge in percent, 0 to 100. Higher numbers are reserved and throw `invalidValue` (section 3.1).
    public static var batteryLevel: Self { Characteristic(.percentage, BluetoothUUID(0x2A19), service: .battery) }
}

extension Characteristic where Value == BatteryLevelStatus {
    /// The state of power and charging (section 3.2).
    public static var batteryLevelStatus: Self { Characteristic(BluetoothUUID(0x2BED), service: .battery) }
}

extension ValueCoding where Value == UInt8 {
    /// Encodes a percentage as one byte from 0 to 100.
    static var percentage: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try checked(UInt8(bytes: bytes)) },
            encode: { (percent) throws(BLEError) in [try checked(percent)] })
    }

    private static func checked(_ percent: UInt8) throws(BLEError) -> UInt8 {
        guard percent <= 100 else { throw BLEError(.invalidValue, "\(percent) is not between 0 and 100") }
        return percent
    }
}
