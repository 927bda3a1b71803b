import BLE
import BLEBlueZ
import DBus

/// A device of the fake daemon, and its attributes once they have been discovered.
struct FakeDevice {
    /// The id under which the radio knows it.
    let id: Peripheral.ID
    /// Has the address that it had when bluetoothd began to know it.
    let path: String
    /// The path of its adapter.
    let adapter: String
    var advertisement: Advertisement
    /// Whether the daemon is experimental, and its version.
    var isExperimental = false
    var minorVersion = 66
    /// The last known values of attributes, by their handles.
    var values: [UInt16: [UInt8]] = [:]
    /// The battery level that the daemon has read.
    var battery: UInt8?
    /// Whether it is received, and so has a signal strength, known or not.
    var isInRange = true
    /// The properties that show the use of its characteristics, by their handles.
    var uses: [UInt16: Set<String>] = [:]
    /// The packet length that `MTU` shows while there is a link.
    var packetLength: Int?
    /// The packet length of the link while there is one.
    var linkPacketLength: Int?
    var isConnected = false
    /// When its last link has ended.
    var ended: ContinuousClock.Instant?
    /// The capability that this side has on the link.
    var linkCapability: IOCapability?
    /// How many links there have been.
    var links = 0
    var areServicesResolved = false
    var database: GATTDatabase?
    /// The services that the last discovery has found.
    var discovered: GATTDatabase?
    var connecting: Task<BLEError?, Never>?
    var pairing: Task<BLEError?, Never>?
    var isPaired = false
    /// Whether `Pair` has secured the channel: then requests wait until the pairing has succeeded, or the link ends.
    var isHeldBack = false
    /// The requests that wait for that.
    var heldBack: [CheckedContinuation<Void, Never>] = []
    /// The calls of `Disconnect` that have failed, and wait for the end of the link.
    var disconnecting: [CheckedContinuation<Void, Never>] = []
    /// Whether a request has begun a pairing that the agent has not approved: the request waits until then, or for the
    /// end of the link.
    var isUnapproved = false
    /// The requests that were lost with their link: their methods, and the paths of their attributes.
    var lost: Set<[String]> = []
    var isTrusted = false
    var isBlocked = false
    /// Its identity address, if that is not the one in its path.
    var identity: String?

    /// - Parameter identity: its identity address, if bluetoothd knows that from before. Its path has that address.
    init(id: Peripheral.ID, advertisement: Advertisement, adapter: String, identity: String? = nil) {
        self.id = id
        self.advertisement = advertisement
        self.adapter = adapter
        self.identity = identity
        path = Self.path(of: identity.map { Peripheral.ID(rawValue: $0) } ?? id, onAdapter: adapter)
    }

    /// Whether bluetoothd has only heard it: no program has connected to it or paired with it.
    var isTemporary: Bool { links == 0 && connecting == nil && pairing == nil && !isPaired && !isTrusted && !isBlocked }

    /// What bluetoothd knows of it after a restart. Nil if it has no bond.
    var stored: FakeDevice? {
        guard isPaired else { return nil }
        let known = Advertisement(
            localName: advertisement.localName, serviceUUIDs: services, appearance: advertisement.appearance,
            addressType: advertisement.addressType)
        return stored(known, adapter: adapter)
    }

    /// A stored device, as the same adapter has it under another path.
    func moved(to adapter: String) -> FakeDevice { stored(advertisement, adapter: adapter) }

    private func stored(_ known: Advertisement, adapter: String) -> FakeDevice {
        var device = FakeDevice(id: id, advertisement: known, adapter: adapter, identity: identity)
        (device.isExperimental, device.minorVersion) = (isExperimental, minorVersion)
        (device.isPaired, device.isTrusted, device.isBlocked) = (isPaired, isTrusted, isBlocked)
        device.isInRange = false
        return device
    }

    static func path(of id: Peripheral.ID, onAdapter adapter: String) -> String {
        "\(adapter)/dev_\(String(id.rawValue.map { $0 == ":" ? "_" : $0 }))"
    }

    /// All objects of the device by their paths, with their interfaces and properties.
    var objects: [String: [String: [String: DBusValue]]] {
        var objects = [path: [BlueZ.device: properties]]
        if let battery { objects[path]?[Self.batteryInterface] = batteryProperties(battery) }
        for attribute in attributes { objects[attribute.path] = [attribute.interface: attribute.properties] }
        return objects
    }

    func batteryProperties(_ level: UInt8) -> [String: DBusValue] {
        let source = ["Source": DBusValue.string("GATT Battery Service")]
        return ["Percentage": .byte(level)].merging(minorVersion < 80 ? [:] : source) { $1 }
    }

    static let batteryInterface = "org.bluez.Battery1"

    var properties: [String: DBusValue] {
        var advertised = changes(from: Advertisement(), to: advertisement).compactMapValues(\.self)
        if isInRange { advertised["RSSI"] = Self.signalStrength(advertisement) }
        return advertised.merging([
            "Alias": alias(advertisement),
            "LegacyPairing": .boolean(false),
            "UUIDs": .strings(services.map(\.fullDescription)),
            "Address": .string(identity ?? id.rawValue), "Paired": .boolean(isPaired), "Bonded": .boolean(isPaired),
            "Trusted": .boolean(isTrusted), "Blocked": .boolean(isBlocked),
            "Adapter": .objectPath(adapter),
            "Connected": .boolean(isConnected), "ServicesResolved": .boolean(areServicesResolved),
        ]) { $1 }
    }

    /// The services that `UUIDs` shows: those that are advertised, and those that were discovered on a link, the
    /// secondary ones, too.
    var services: Set<BluetoothUUID> { services(of: advertisement) }

    private func services(of advertisement: Advertisement) -> Set<BluetoothUUID> {
        advertisement.serviceUUIDs.union((database?.services ?? []).map(\.uuid))
    }

    private func alias(_ advertisement: Advertisement) -> DBusValue {
        .string(advertisement.localName ?? String(id.rawValue.map { $0 == ":" ? "-" : $0 }))
    }

    /// What the daemon knows of a descriptor: what it has read, and the extended properties, which it reads to know the
    /// characteristic.
    private func value(of descriptor: GATTDescriptor, _ characteristic: GATTCharacteristic) -> [UInt8] {
        if let known = values[descriptor.handle] { return known }
        guard descriptor.uuid == BluetoothUUID(0x2900) else { return [] }
        let bits: [CharacteristicProperties] = [.reliableWrite, .writableAuxiliaries]
        let value = bits.enumerated().reduce(UInt8(0)) { bits, entry in
            characteristic.properties.contains(entry.element) ? bits | 1 << entry.offset : bits
        }
        return [value, 0]
    }

    /// From 5.69 on, the objects of attributes show their handles.
    private func handle(_ handle: UInt16) -> [String: DBusValue] {
        minorVersion < 69 ? [:] : ["Handle": .uint16(handle)]
    }

    /// The properties that two advertisements show differently, with their values for the second; nil for one that it
    /// does not have. The signal strength is not among them.
    func changes(from old: Advertisement, to new: Advertisement) -> [String: DBusValue?] {
        var changes: [String: DBusValue?] = [:]
        func compare<Value: Equatable>(
            _ name: String, _ field: (Advertisement) -> Value, _ shown: (Value) -> DBusValue?
        ) {
            let value = field(new)
            if value != field(old) { changes.updateValue(shown(value), forKey: name) }
        }
        compare("Name", \.localName) { $0.map { .string($0) } }
        compare("Alias", \.localName) { _ in alias(new) }
        if new.serviceUUIDs != old.serviceUUIDs {
            compare("UUIDs", { services(of: $0) }) { .strings($0.map(\.fullDescription)) }
        }
        compare("ManufacturerData", \.manufacturerData) { _ in Self.manufacturerData(new) }
        compare("ServiceData", \.serviceData) { _ in Self.serviceData(new) }
        compare("TxPower", \.txPower) { $0.map { .int16(Int16(clamping: $0)) } }
        compare("Appearance", \.appearance) { $0.map { .uint16($0.rawValue) } }
        compare("Class", \.deviceClass) { $0.map { .uint32($0) } }
        compare("AddressType", \.addressType) { $0.map { .string($0.rawValue) } }
        compare("AdvertisingFlags", \.flags) { $0.map { .bytes([$0.rawValue]) } }
        if isExperimental, Self.structures(new) != Self.structures(old) {
            compare("AdvertisingData", Self.unnamed) { $0 }
        }
        return changes
    }

    /// The properties that are shown for each advertisement, changed or not, as `DuplicateData` has it by default.
    static func repeated(_ advertisement: Advertisement) -> [String: DBusValue] {
        var properties = ["RSSI": signalStrength(advertisement)]
        properties["ManufacturerData"] = manufacturerData(advertisement)
        properties["ServiceData"] = serviceData(advertisement)
        return properties
    }

    private static func signalStrength(_ advertisement: Advertisement) -> DBusValue {
        .int16(Int16(clamping: advertisement.rssi ?? 127))
    }

    private static func manufacturerData(_ advertisement: Advertisement) -> DBusValue? {
        guard !advertisement.manufacturerData.isEmpty else { return nil }
        let entries = advertisement.manufacturerData.map { (DBusValue.uint16($0), DBusValue.variant(.bytes($1))) }
        return .dictionary(key: "q", value: "v", Dictionary(uniqueKeysWithValues: entries))
    }

    private static func serviceData(_ advertisement: Advertisement) -> DBusValue? {
        guard !advertisement.serviceData.isEmpty else { return nil }
        let entries = advertisement.serviceData.map { ($0.fullDescription, DBusValue.bytes($1)) }
        return .options(Dictionary(uniqueKeysWithValues: entries))
    }

    /// What an advertisement has besides the other properties.
    private static func structures(_ advertisement: Advertisement) -> Advertisement {
        Advertisement(
            solicitedServiceUUIDs: advertisement.solicitedServiceUUIDs,
            advertisingInterval: advertisement.advertisingInterval, structures: advertisement.structures)
    }

    /// The structures that no other property shows, as an experimental bluetoothd shows them; nil if there are none.
    private static func unnamed(_ advertisement: Advertisement) -> DBusValue? {
        guard let structures = try? structures(advertisement).data().structures, !structures.isEmpty else { return nil }
        let entries = structures.map { (DBusValue.byte($0.type), DBusValue.variant(.bytes($0.bytes))) }
        // Of structures of one type, the daemon shows the last.
        return .dictionary(key: "y", value: "v", Dictionary(entries) { $1 })
    }

    struct Attribute {
        let path: String
        let interface: String
        let handle: UInt16
        let properties: [String: DBusValue]
    }

    private func used(_ characteristic: GATTCharacteristic) -> [String: DBusValue] {
        var names = characteristic.properties.isDisjoint(with: [.notify, .indicate]) ? [] : ["Notifying"]
        if characteristic.properties.contains(.notify) { names.append("NotifyAcquired") }
        if characteristic.properties.contains(.writeWithoutResponse) { names.append("WriteAcquired") }
        let uses = uses[characteristic.handle] ?? []
        return Dictionary(uniqueKeysWithValues: names.map { ($0, .boolean(uses.contains($0))) })
    }

    /// In order of handles, parents first.
    var attributes: [Attribute] { attributes(of: database ?? GATTDatabase(services: [])) }

    func attributes(of database: GATTDatabase) -> [Attribute] {
        func child(_ parent: String, _ kind: String, _ handle: UInt16) -> String {
            "\(parent)/\(kind)\(Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)]))"
        }
        var all: [Attribute] = []
        for service in database {
            let servicePath = child(path, "service", service.handle)
            let included = service.includedHandles.map { DBusValue.objectPath(child(path, "service", $0)) }
            all.append(
                Attribute(
                    path: servicePath, interface: BlueZ.gattService, handle: service.handle,
                    properties: [
                        "UUID": .string(service.uuid.fullDescription), "Primary": .boolean(service.isPrimary),
                        "Device": .objectPath(path), "Includes": .array(element: "o", included),
                    ].merging(handle(service.handle)) { $1 }))
            for characteristic in service.characteristics {
                let characteristicPath = child(servicePath, "char", characteristic.handle)
                let flags = CharacteristicProperties.names.filter { characteristic.properties.contains($0.property) }
                all.append(
                    Attribute(
                        path: characteristicPath, interface: BlueZ.gattCharacteristic, handle: characteristic.handle,
                        properties: [
                            "UUID": .string(characteristic.uuid.fullDescription), "Service": .objectPath(servicePath),
                            "Flags": .strings(flags.map(\.name)),
                            "Value": .bytes(values[characteristic.handle] ?? []),
                        ].merging(used(characteristic)) { $1 }.merging(handle(characteristic.handle)) { $1 }
                            .merging(linkPacketLength.map { ["MTU": .uint16(UInt16($0))] } ?? [:]) { $1 }))
                for descriptor in characteristic.descriptors {
                    all.append(
                        Attribute(
                            path: child(characteristicPath, "desc", descriptor.handle), interface: BlueZ.gattDescriptor,
                            handle: descriptor.handle,
                            properties: [
                                "UUID": .string(descriptor.uuid.fullDescription),
                                "Characteristic": .objectPath(characteristicPath),
                                "Value": .bytes(value(of: descriptor, characteristic)),
                            ].merging(handle(descriptor.handle)) { $1 }))
                }
            }
        }
        return all
    }
}

/// The daemon's devices, and which of them have changed.
struct FakeDevices {
    private var devices: [Peripheral.ID: FakeDevice] = [:]
    private var changed: Set<Peripheral.ID> = []

    var values: some Collection<FakeDevice> { devices.values }

    subscript(id: Peripheral.ID) -> FakeDevice? {
        get { devices[id] }
        _modify {
            changed.insert(id)
            yield &devices[id]
        }
    }

    /// A device was received. What this changes is for the caller to publish.
    mutating func receive(_ advertisement: Advertisement, from id: Peripheral.ID) {
        devices[id]?.advertisement = advertisement
        devices[id]?.isInRange = true
    }

    @discardableResult mutating func removeAll() -> [Peripheral.ID: FakeDevice] {
        defer {
            changed.formUnion(devices.keys)
            devices = [:]
        }
        return devices
    }

    mutating func takeChanged() -> Set<Peripheral.ID> {
        defer { changed = [] }
        return changed
    }
}
