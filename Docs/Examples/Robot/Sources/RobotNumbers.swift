import BLE
import BLEAssignedNumbers

// The robot's numbers, declared as those of the SIG are.

extension BluetoothUUID {
    static let monitoring = BluetoothUUID(0x7779)
    static let configuration = BluetoothUUID(0x6770)
    static let fileExchange = BluetoothUUID(0x8270)
    static let firmwareUpdate = BluetoothUUID(0x7085)
    static let commands = BluetoothUUID(0xDFB0)
    static let writeCommand = BluetoothUUID(0xDFB1)
    static let robotReport = BluetoothUUID(0xDFB2)
}

extension Characteristic where Value == Bool {
    /// Whether the battery is charging.
    static var isCharging: Self {
        // The robot sends 1 for yes, and any other number for no.
        let coding = ValueCoding<Bool>(
            decode: { (bytes) throws(BLEError) in try UInt8(bytes: bytes) == 1 },
            encode: { (value) throws(BLEError) in [value ? 1 : 0] })
        return Characteristic(coding, BluetoothUUID(0x6783), service: .monitoring)
    }
}

extension Characteristic where Value == String {
    /// The name that the owner gave it. The robot pads it with NULs, which `String` leaves out.
    static var robotName: Self { Characteristic(BluetoothUUID(0x8278), service: .configuration) }
}

extension Catalog {
    /// The names of the robot's services and characteristics, for a program that shows them.
    static let robot: Catalog = [
        .service(.monitoring, "Monitoring"), .characteristic(.isCharging, "Charging"),
        .characteristic(BluetoothUUID(0x8369), "Screensaver"),
        .characteristic(BluetoothUUID(0x8382), "Soft Reboot"), .characteristic(BluetoothUUID(0x7282), "Hard Reboot"),
        .service(.configuration, "Configuration"), .characteristic(.robotName, "Name"),
        .service(.fileExchange, "File Exchange"), .service(.firmwareUpdate, "Firmware Update"),
        .service(.commands, "Commands"), .characteristic(.writeCommand, "Write Command"),
    ]
}
