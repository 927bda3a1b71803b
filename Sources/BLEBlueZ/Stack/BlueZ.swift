internal import BLE
internal import DBus

/// bluetoothd's bus interface: its names (BlueZ's `doc/org.bluez.*.rst`), the match rules for its signals, its paths,
/// and the calls of its methods.
package enum BlueZ {
    package static let service = "org.bluez"
    package static let adapter = "org.bluez.Adapter1"
    package static let gattManager = "org.bluez.GattManager1"
    package static let advertisingManager = "org.bluez.LEAdvertisingManager1"
    package static let monitorManager = "org.bluez.AdvertisementMonitorManager1"
    package static let device = "org.bluez.Device1"
    package static let gattService = "org.bluez.GattService1"
    package static let gattCharacteristic = "org.bluez.GattCharacteristic1"
    package static let gattDescriptor = "org.bluez.GattDescriptor1"
    package static let agentManager = "org.bluez.AgentManager1"
    package static let agent = "org.bluez.Agent1"
    package static let properties = "org.freedesktop.DBus.Properties"
    package static let objectManager = "org.freedesktop.DBus.ObjectManager"
    package static let peer = "org.freedesktop.DBus.Peer"

    /// The match rules of a client, besides the one for the owner of bluetoothd's name: three broad rules, of the 512
    /// that a bus allows.
    static let matchRules = [
        "type='signal',sender='org.bluez',interface='org.bluez.Device1',member='Disconnected'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.ObjectManager'",
        "type='signal',sender='org.bluez',interface='org.freedesktop.DBus.Properties',member='PropertiesChanged',"
            + "path_namespace='/org/bluez'",
    ]

    static func call(_ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...) -> MethodCall {
        MethodCall(service, path, interface, method, arguments)
    }

    /// Returns the reason that `Device1.Disconnected` names (BlueZ's `doc/org.bluez.Device.rst`).
    static func disconnectReason(_ name: String) -> DisconnectReason {
        switch name {
        case "org.bluez.Reason.Timeout": .timeout
        case "org.bluez.Reason.Local": .local
        case "org.bluez.Reason.Remote": .remote
        case "org.bluez.Reason.Authentication": .authentication
        case "org.bluez.Reason.Suspend": .adapterGone
        default: .unknown
        }
    }

    /// Returns the id in the path of an adapter: `/org/bluez/hci0` is `hci0`.
    package static func adapterID(_ path: String) -> String {
        String(path.utf8.split(separator: UInt8(ascii: "/")).last ?? Substring(path).utf8) ?? path
    }

    /// Returns the path of an adapter.
    static func path(ofAdapter id: String) -> String { "/org/bluez/\(id)" }

    /// Sorts the paths of adapters: hci10 comes after hci9.
    static func inOrder(_ paths: some Sequence<String>) -> [String] {
        paths.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    /// Returns the handle at the end of an attribute's path: `…/service000a/char000b` is 0x000b.
    static func handle(ofPath path: String) -> UInt16? {
        UInt16(path.utf8.suffix(4).reduce(into: "") { $0.unicodeScalars.append(UnicodeScalar($1)) }, radix: 16)
    }
}

extension Peripheral.ID {
    /// Creates the id of a device from its path: `…/dev_F0_F1_F2_F3_F4_F5` is `F0:F1:F2:F3:F4:F5`.
    ///
    /// The path contains the address with which the device was first received. BlueZ keeps it when pairing reveals the
    /// identity address behind a private one, which changes the property `Address`.
    init(devicePath path: String) {
        if let path = DevicePath(path) {
            self = path.id
            return
        }
        let start =
            path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.utf8.startIndex
        let name = path.utf8[start...].dropFirst("dev_".utf8.count)
        let text = name.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: ":") : $0 }
        self.init(rawValue: String(decoding: text, as: UTF8.self))
    }
}
