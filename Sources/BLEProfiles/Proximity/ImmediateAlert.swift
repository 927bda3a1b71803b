public import BLE

extension BluetoothUUID {
    /// The Immediate Alert service.
    public static let immediateAlert = BluetoothUUID(0x1802)
}

/// The Immediate Alert service of a device, such as a tag that helps to find things (Immediate Alert Service 1.0).
public struct ImmediateAlert: Profile {
    /// 0x1802.
    public static let serviceUUID = BluetoothUUID.immediateAlert
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Starts an alert, or ends it with `none`. The device does not confirm it. Connects and discovers if necessary.
    public func alert(_ level: AlertLevel) async throws(BLEError) {
        try await service.write(level, to: .immediateAlertLevel, type: .withoutResponse)
    }
}

extension Characteristic where Value == AlertLevel {
    /// The current alert level of the device (section 3.1).
    public static var immediateAlertLevel: Self { Characteristic(BluetoothUUID(0x2A06), service: .immediateAlert) }
}
