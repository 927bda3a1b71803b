public import BLE

extension BluetoothUUID {
    /// The Immediate Alert service.
    public static let immediateAlert = BluetoothUUID(0x1802)
}

/// The Immediate Alert service of a device that can be made to alert (Immediate Alert Service 1.0): a tag that is to be found.
public struct ImmediateAlert: Profile {
    /// 0x1802.
    public static let serviceUUID = BluetoothUUID.immediateAlert
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Begins to alert, or ends it with `none`. The device does not confirm it. Connects and discovers as needed.
    public func alert(_ level: AlertLevel) async throws(BLEError) {
        try await service.write(level, to: .immediateAlertLevel, type: .withoutResponse)
    }
}

extension Characteristic where Value == AlertLevel {
    /// How the device alerts from now on (section 3.1).
    public static var immediateAlertLevel: Self { Characteristic(BluetoothUUID(0x2A06), service: .immediateAlert) }
}
