public import BLE

extension BluetoothUUID {
    /// The Link Loss service.
    public static let linkLoss = BluetoothUUID(0x1803)
}

/// The Link Loss service of a device that alerts when its link is lost (Link Loss Service 1.0).
public struct LinkLoss: Profile {
    /// 0x1803.
    public static let serviceUUID = BluetoothUUID.linkLoss
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// How it will alert. Connects and discovers as needed.
    public func alertLevel() async throws(BLEError) -> AlertLevel { try await service.read(.linkLossAlertLevel) }

    /// Sets how it will alert.
    public func setAlertLevel(_ level: AlertLevel) async throws(BLEError) {
        try await service.write(level, to: .linkLossAlertLevel)
    }
}

extension Characteristic where Value == AlertLevel {
    /// How the device alerts when its link is lost (section 3.1).
    public static var linkLossAlertLevel: Self { Characteristic(BluetoothUUID(0x2A06), service: .linkLoss) }
}
