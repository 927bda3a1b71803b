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
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The charge in percent, 0 to 100. Connects and discovers as needed.
    public func level() async throws(BLEError) -> UInt8 {
        try await service.read(.batteryLevel)
    }

    /// The charge in percent, 0 to 100, whenever the device notifies it; `notSupported` when it does not.
    public func levels() async throws(BLEError) -> NotificationStream<UInt8> {
        try await service.notifications(.batteryLevel)
    }

    /// Which of the device's batteries it is, as the presentation format of its level says (section 3.1.2.1); nil when it does
    /// not say, as a device with a single one need not.
    public func position() async throws(BLEError) -> PresentationFormat.Description? {
        let level = service.key(.batteryLevel).key
        return try await peripheral.presentationFormat(of: level).flatMap {
            $0.namespace == .bluetoothSIG ? $0.description : nil
        }
    }

    /// How it is powered and charged; nil when the device does not say.
    public func levelStatus() async throws(BLEError) -> BatteryLevelStatus? {
        try await service.readIfPresent(.batteryLevelStatus)
    }

    /// How it is powered and charged, whenever that changes.
    public func levelStatuses() async throws(BLEError) -> NotificationStream<BatteryLevelStatus> {
        try await service.notifications(.batteryLevelStatus)
    }
}

extension Characteristic where Value == UInt8 {
    /// The battery's charge in percent, 0 to 100; more is reserved and throws `invalidValue` (section 3.1).
    public static var batteryLevel: Self { Characteristic(.percentage, BluetoothUUID(0x2A19), service: .battery) }
}

extension Characteristic where Value == BatteryLevelStatus {
    /// How the battery is powered and charged (section 3.2).
    public static var batteryLevelStatus: Self { Characteristic(BluetoothUUID(0x2BED), service: .battery) }
}

extension ValueCoding where Value == UInt8 {
    /// One byte from 0 to 100.
    static var percentage: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in try checked(UInt8(bytes: bytes)) },
            encode: { (percent) throws(BLEError) in [try checked(percent)] })
    }

    private static func checked(_ percent: UInt8) throws(BLEError) -> UInt8 {
        guard percent <= 100 else { throw BLEError(.invalidValue, "\(percent) is no percentage") }
        return percent
    }
}
