internal import BLE
internal import DBus

/// The names of bluetoothd's bus interface (BlueZ's `doc/org.bluez.*.rst`).
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

    /// Returns the handle at the end of an attribute's path: `…/service000a/char000b` is 0x000b.
    static func handle(ofPath path: String) -> UInt16? {
        UInt16(path.utf8.suffix(4).reduce(into: "") { $0.unicodeScalars.append(UnicodeScalar($1)) }, radix: 16)
    }
}
