public import BLE

extension BluetoothUUID {
    /// The GAP service, which every device has.
    public static let genericAccess = BluetoothUUID(0x1800)
}

extension Characteristic where Value == String {
    /// The device's name, at most 248 bytes (Core Specification 5.4, volume 3, part C, section 12.1).
    public static var deviceName: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A00), service: .genericAccess)
    }
}

extension Characteristic where Value == Appearance {
    /// What the device looks like (section 12.2).
    public static var appearance: Self {
        Characteristic(
            ValueCoding(
                decode: { (bytes) throws(BLEError) in
                    var reader = ValueReader(bytes)
                    return Appearance(rawValue: try reader.uint16())
                }, encode: { [UInt8($0.rawValue & 0xFF), UInt8($0.rawValue >> 8)] }),
            BluetoothUUID(0x2A01), service: .genericAccess)
    }
}
