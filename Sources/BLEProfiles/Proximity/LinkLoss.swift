public import BLE

extension BluetoothUUID {
    /// The Link Loss service.
    public static let linkLoss = BluetoothUUID(0x1803)
}

/// The Link Loss service of a device that alerts when its link is lost (Link Loss Service 1.0).
public struct LinkLoss: Profile {
    /// 0x1803.
    public static let serviceUUID = BluetoothUUID.linkLoss
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the alert level for a lost link. Connects and discovers if necessary.
    public func alertLevel() async throws(BLEError) -> AlertLevel { try await service.read(.linkLossAlertLevel) }

    /// Sets the alert level for a lost link.
    public func setAlertLevel(_ level: AlertLevel) async throws(BLEError) {
        try await service.write(level, to: .linkLossAlertLevel)
    }
}

extension Characteristic where Value == AlertLevel {
    /// The alert level for a lost link (section 3.1).
    public static var linkLossAlertLevel: Self { Characteristic(BluetoothUUID(0x2A06), service: .linkLoss) }
}
