internal import BLE
internal import DBus

/// The objects in the messages of a hostile bluetoothd: those that the central uses, and invented ones.
///
/// The properties of the former may be of any type, but it never gives one object the identity of another, because a
/// central has to believe bluetoothd. So the characteristic of a value can be recognized.
enum HostileWorld {
    static let adapter = "/org/bluez/hci0"
    static let addresses = [
        "F0:12:9A:33:C4:71", "C3:8E:05:D2:6B:1F", "E7:61:FC:08:97:A2", "D4:F5:40:BB:1E:86", "FA:29:73:6C:E8:0D",
    ]
    static let devices = addresses.map { path(ofAddress: $0) }

    static func path(ofAddress address: String) -> String {
        "\(adapter)/dev_\(String(address.map { $0 == ":" ? "_" : $0 }))"
    }

    /// The characteristics of each device, and the descriptor of each characteristic.
    static let characteristics = [
        "service0010/char0011", "service0010/char0017", "service0020/char0021", "service0020/char002b",
    ]
    static let uuids = ["a001", "b7c2", "9d14", "e2f8"].map { "0000\($0)-0000-1000-8000-00805f9b34fb" }
    static let services = ["service0010", "service0020"]
    static let serviceUUIDs = ["0000180d-0000-1000-8000-00805f9b34fb", "6e400001-b5a3-f393-e0a9-e50e24dcca9e"]
    static let descriptorUUID = "00002901-0000-1000-8000-00805f9b34fb"

    static func path(_ device: Int, _ characteristic: Int) -> String {
        "\(devices[device])/\(characteristics[characteristic])"
    }

    static func descriptor(_ device: Int, _ characteristic: Int) -> String {
        path(device, characteristic) + "/desc0f0\(characteristic)"
    }

    /// Paths of objects that do not exist. None ends in the handle of an existing characteristic.
    static let inventedPaths: [String] = [
        "/", "/org", "/org/bluez", "/org/bluez/hci0", "/org/bluez/hci1", "/org/bluez/hci99", "/org/bluez/hci0/",
        "/org/bluez/hci0/dev_", "/org/bluez/hci1/dev_F0_12_9A_33_C4_71", "/org/bluez/hci0/dev_00_00_00_00_00_00",
        "/org/bluez/hci0/dev_AB_CD", "/org/bluez/hci0/dev_00_00_00_00_00_00/service00aa/char00ab", "relative", "",
        "/a/b/c/d/e/f/g/h", "/org/bluez/hci0//dev_x//service", "/org/bluez/hci0/dev_\u{e4}\u{f6}/service0001",
        devices[0] + "/service", devices[0] + "/service0300", devices[0] + "/service0300/char0301",
        devices[1] + "/service0010/char", devices[1] + "/service0010/char+0a",
        devices[2] + "/service0010/char0311/desc0312",
        devices[3] + "/service0400/char0401/desc0402/more/and/more", devices[3] + "/x",
        devices[4] + "/service0020/charzzzz",
    ]
    /// A path that occurs only in messages of other programs.
    static let foreignPath = "/org/bluez/hci0/dev_66_66_66_66_66_66"
    static let inventedAddresses = ["", "AA:AA:AA:AA:AA:AA", "nonsense", "aa:bb", "66:66"]
    static let inventedUUIDs = [
        "", "180d", "ffff", "zzzz", "0000fe0f-0000-1000-8000-00805f9b34fb", "00000000-0000-0000-0000-000000000000",
        "1-2-3",
    ]

    // MARK: Values that contain their characteristic

    private static let mark: [UInt8] = [0x7A, 0xE1, 0x5B, 0x03, 0xC6]

    static func value(_ device: Int, _ characteristic: Int, _ rest: [UInt8]) -> [UInt8] {
        mark + [UInt8(device), UInt8(characteristic)] + rest
    }

    /// A value of no characteristic.
    static func foreignValue(_ rest: [UInt8]) -> [UInt8] { value(0xFF, 0xFF, rest) }

    /// Whether a value belongs to another characteristic.
    static func isAstray(_ value: [UInt8], _ device: Int, _ characteristic: Int) -> Bool {
        value.starts(with: mark) && value.count >= mark.count + 2
            && (value[mark.count] != UInt8(device) || value[mark.count + 1] != UInt8(characteristic))
    }

    // MARK: Messages of an honest bluetoothd

    static func deviceProperties(_ device: Int, isConnected: Bool) -> [String: DBusValue] {
        [
            "Address": .string(addresses[device]), "Adapter": .objectPath(adapter), "Name": .string("Thing \(device)"),
            "AddressType": .string("random"), "RSSI": .int16(-50), "UUIDs": .strings([serviceUUIDs[0]]),
            "Connected": .boolean(isConnected), "ServicesResolved": .boolean(isConnected), "Paired": .boolean(false),
        ]
    }

    static let adapterProperties: [String: DBusValue] = [
        "Address": .string("00:11:22:33:44:55"), "Alias": .string("host"), "Name": .string("host"),
        "Powered": .boolean(true), "Discovering": .boolean(false),
    ]

    /// The attributes of a device by their paths, each with its interface and properties.
    static func attributes(_ device: Int) -> [(path: String, interface: String, properties: [String: DBusValue])] {
        var all: [(String, String, [String: DBusValue])] = []
        for (service, uuid) in zip(services, serviceUUIDs) {
            all.append(
                (
                    "\(devices[device])/\(service)", BlueZ.gattService,
                    ["UUID": .string(uuid), "Primary": .boolean(true), "Device": .objectPath(devices[device])]
                ))
        }
        for characteristic in characteristics.indices {
            all.append(
                (
                    path(device, characteristic), BlueZ.gattCharacteristic,
                    [
                        "UUID": .string(uuids[characteristic]), "Notifying": .boolean(false),
                        "Flags": .strings(["read", "write", "write-without-response", "notify", "reliable-write"]),
                    ]
                ))
            all.append(
                (
                    HostileWorld.descriptor(device, characteristic), BlueZ.gattDescriptor,
                    ["UUID": .string(descriptorUUID)]
                ))
        }
        return all
    }

    /// `a{sa{sv}}`.
    static func interfaces(_ interfaces: [String: DBusValue]) -> DBusValue {
        .dictionary(
            key: "s", value: "a{sv}", Dictionary(uniqueKeysWithValues: interfaces.map { (.string($0), $1) }))
    }

    /// `a{oa{sa{sv}}}`.
    static func managedObjects(connected: Set<Int>) -> DBusValue {
        var objects: [DBusValue: DBusValue] = [
            .objectPath(adapter): interfaces([BlueZ.adapter: .options(adapterProperties)])
        ]
        for device in devices.indices {
            objects[.objectPath(devices[device])] = interfaces([
                BlueZ.device: .options(deviceProperties(device, isConnected: connected.contains(device)))
            ])
            for (path, interface, properties) in attributes(device) {
                objects[.objectPath(path)] = interfaces([interface: .options(properties)])
            }
        }
        return .dictionary(key: "o", value: "a{sa{sv}}", objects)
    }
}
