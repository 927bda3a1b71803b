import BLEBlueZ
import DBus

/// The interfaces that the fake daemon serves.
enum Interfaces {
    /// All of those that have methods that a test refuses or holds up.
    static let all = [
        objectManager, adapter, monitorManager, agentManager, gattManager, advertisingManager, device, characteristic,
        descriptor,
    ]
    static let ofAdapters = [adapter, monitorManager, gattManager, advertisingManager]
    static let objectManager = InterfaceDescription(
        BlueZ.objectManager,
        .method("GetManagedObjects", returns: "a{oa{sa{sv}}}"))
    static let adapter = InterfaceDescription(
        BlueZ.adapter,
        .method("SetDiscoveryFilter", takes: "a{sv}"),
        .method("StartDiscovery"),
        .method("StopDiscovery"),
        .method("RemoveDevice", takes: "o"),
        .property("Address", type: "s"),
        .property("Name", type: "s"),
        .property("Alias", type: "s", isWritable: true),
        .property("Powered", type: "b", isWritable: true),
        .property("AddressType", type: "s"),
        .property("Class", type: "u"),
        .property("Discoverable", type: "b"),
        .property("DiscoverableTimeout", type: "u"),
        .property("Pairable", type: "b"),
        .property("PairableTimeout", type: "u"),
        .property("Roles", type: "as"),
        .property("UUIDs", type: "as"),
        .property("Discovering", type: "b"),
        .property("Modalias", type: "s"))
    static let monitorManager = InterfaceDescription(
        BlueZ.monitorManager,
        .method("RegisterMonitor", takes: "o"),
        .method("UnregisterMonitor", takes: "o"))
    static let agentManager = InterfaceDescription(
        BlueZ.agentManager,
        .method("RegisterAgent", takes: "os"),
        .method("UnregisterAgent", takes: "o"),
        .method("RequestDefaultAgent", takes: "o"))
    static let gattManager = InterfaceDescription(
        BlueZ.gattManager,
        .method("RegisterApplication", takes: "oa{sv}"),
        .method("UnregisterApplication", takes: "o"))
    static let advertisingManager = InterfaceDescription(
        BlueZ.advertisingManager,
        .method("RegisterAdvertisement", takes: "oa{sv}"),
        .method("UnregisterAdvertisement", takes: "o"),
        .property("ActiveInstances", type: "y"),
        .property("SupportedInstances", type: "y"),
        .property("SupportedIncludes", type: "as"))
    static let battery = InterfaceDescription(
        FakeDevice.batteryInterface, .property("Percentage", type: "y"), .property("Source", type: "s"))
    static let device = InterfaceDescription(
        BlueZ.device,
        .method("Connect"),
        .method("Disconnect"),
        .method("Pair"),
        .method("CancelPairing"),
        .property("Paired", type: "b"),
        .property("Bonded", type: "b"),
        .property("Trusted", type: "b", isWritable: true),
        .property("Blocked", type: "b", isWritable: true),
        .property("Address", type: "s"),
        .property("Adapter", type: "o"),
        .property("Name", type: "s"),
        .property("Alias", type: "s"),
        .property("LegacyPairing", type: "b"),
        .property("RSSI", type: "n"),
        .property("TxPower", type: "n"),
        .property("Appearance", type: "q"),
        .property("Class", type: "u"),
        .property("AddressType", type: "s"),
        .property("UUIDs", type: "as"),
        .property("ManufacturerData", type: "a{qv}"),
        .property("ServiceData", type: "a{sv}"),
        .property("Connected", type: "b"),
        .property("ServicesResolved", type: "b"))
    static let characteristic = InterfaceDescription(
        BlueZ.gattCharacteristic,
        .method("ReadValue", takes: "a{sv}", returns: "ay"),
        .method("WriteValue", takes: "aya{sv}"),
        .method("StartNotify"),
        .method("StopNotify"),
        .method("AcquireNotify", takes: "a{sv}", returns: "hq"),
        .method("AcquireWrite", takes: "a{sv}", returns: "hq"),
        .property("MTU", type: "q"))
    static let descriptor = InterfaceDescription(
        BlueZ.gattDescriptor,
        .method("ReadValue", takes: "a{sv}", returns: "ay"),
        .method("WriteValue", takes: "aya{sv}"))
}
