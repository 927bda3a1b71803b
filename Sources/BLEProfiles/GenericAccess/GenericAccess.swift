public import BLE

extension BluetoothUUID {
    /// The GAP service, which every device has.
    public static let genericAccess = BluetoothUUID(0x1800)
}

extension Characteristic where Value == String {
    /// The device's name, at most 248 bytes (Core Specification 5.4, volume 3, part C, section 12.1).
    public static var deviceName: Self { Characteristic(BluetoothUUID(0x2A00), service: .genericAccess) }
}

extension Characteristic where Value == Appearance {
    /// The device's external appearance (section 12.2).
    public static var appearance: Self { Characteristic(BluetoothUUID(0x2A01), service: .genericAccess) }
}
