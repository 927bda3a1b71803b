internal import BLE
internal import DBus

/// The properties of an adapter in a message. Missing properties are nil.
struct AdapterProperties: Equatable {
    var address: String?
    var alias: String?
    var systemName: String?
    var isPowered: Bool?
    var isDiscovering: Bool?
    var isPairable: Bool?
    var addressType: AddressType?
    /// bluetoothd's version.
    var version: BlueZVersion?

    mutating func read(_ name: MessageString, _ value: inout MessageReader) throws(DBusError) {
        switch name {
        case "Address": address = try value.string()
        case "AddressType": addressType = AddressType(rawValue: try value.string())
        case "Alias": alias = try value.string()
        case "Modalias": version = BlueZVersion(modalias: try value.string())
        case "Name": systemName = try value.string()
        case "Powered": isPowered = try value.boolean()
        case "Discovering": isDiscovering = try value.boolean()
        case "Pairable": isPairable = try value.boolean()
        default: break
        }
    }
}

/// The properties of a device in a message. Missing properties are nil.
struct DeviceProperties: Equatable {
    var address: DeviceID?
    var adapter: String?
    var name: String?
    var rssi: Int?
    var txPower: Int?
    var uuids: UUIDList?
    var manufacturerData: DataTable<UInt16>?
    var serviceData: DataTable<BluetoothUUID>?
    var appearance: UInt16?
    var deviceClass: UInt32?
    var addressType: AddressType?
    var flags: AdvertisingFlags?
    /// The AD structures that bluetoothd does not interpret, sorted by type.
    var structures: [AdvertisingStructure]?
    var isConnected: Bool?
    var areServicesResolved: Bool?
    var isPaired: Bool?
    var isBonded: Bool?
    var isTrusted: Bool?
    var isBlocked: Bool?
    /// Whether these properties no longer exist.
    var lostRSSI = false
    var lostTxPower = false
    /// Whether the message contains a property that only advertisements set. BlueZ repeats it for every packet if
    /// duplicates are requested.
    var isAdvertisement = false

    /// Which properties of a device's advertisements to read.
    enum Advertised {
        case all, none
        /// The signal strength alone.
        case strength
    }

    /// Reads an `a{sv}`, without properties of other types than documented. Returns whether there was one to read.
    mutating func read(_ body: inout MessageReader, advertised: Advertised) throws(DBusError) -> Bool {
        var hasAny = false
        try body.forEachProperty { (name, value) throws(DBusError) in
            guard advertised == .all || !Self.isAdvertised(name) || name == "RSSI" && advertised == .strength else {
                return
            }
            hasAny = true
            try? read(name, &value)
        }
        return hasAny
    }

    /// Whether a property is set by each advertisement that contains it, or changes with one.
    private static func isAdvertised(_ property: MessageString) -> Bool {
        switch property {
        case "RSSI", "ManufacturerData", "ServiceData", "TxPower", "AdvertisingFlags", "AdvertisingData": true
        default: false
        }
    }

    /// Whether the message contains anything that an advertisement has.
    var isAboutAdvertisement: Bool {
        isAdvertisement || name != nil || uuids != nil || appearance != nil || manufacturerData != nil
            || serviceData != nil || txPower != nil || flags != nil || structures != nil
    }

    mutating func read(_ property: MessageString, _ value: inout MessageReader) throws(DBusError) {
        switch property {
        case "RSSI":
            rssi = Int(try value.int16())
            isAdvertisement = true
        case "ManufacturerData":
            manufacturerData = try Self.manufacturerData(&value)
            isAdvertisement = true
        case "ServiceData":
            serviceData = try Self.serviceData(&value)
            isAdvertisement = true
        case "TxPower":
            txPower = Int(try value.int16())
            isAdvertisement = true
        case "AdvertisingFlags":
            // Octets that the advertiser left out are zero.
            flags = AdvertisingFlags(rawValue: try value.bytes().first ?? 0)
            isAdvertisement = true
        case "AdvertisingData":
            structures = try Self.structures(&value)
            isAdvertisement = true
        case "Address": address = DeviceID(addressUTF8: try value.text().utf8)
        case "Adapter": adapter = try value.objectPath()
        case "Name": name = try value.string()
        case "UUIDs":
            var found: [BluetoothUUID] = []
            try value.forEachText { text in if let uuid = BluetoothUUID(utf8: text.utf8) { found.append(uuid) } }
            uuids = UUIDList(found)
        case "Appearance": appearance = try value.uint16()
        case "Class": deviceClass = try value.uint32()
        case "AddressType": addressType = AddressType(rawValue: try value.string())
        case "Connected": isConnected = try value.boolean()
        case "ServicesResolved": areServicesResolved = try value.boolean()
        case "Paired": isPaired = try value.boolean()
        case "Bonded": isBonded = try value.boolean()
        case "Trusted": isTrusted = try value.boolean()
        case "Blocked": isBlocked = try value.boolean()
        default: break
        }
    }

    mutating func readInvalidated(_ property: MessageString) {
        switch property {
        case "RSSI": lostRSSI = true
        case "TxPower": lostTxPower = true
        default: break
        }
    }

    /// Reads an `a{qv}` with values of type `ay`.
    private static func manufacturerData(_ value: inout MessageReader) throws(DBusError) -> DataTable<UInt16> {
        var data = DataTable<UInt16>()
        var entries = try value.array()
        while !entries.isAtEnd {
            var entry = try entries.entry()
            let company = try entry.uint16()
            var bytes = try entry.variant()
            data.set(company, try bytes.bytes())
        }
        return data
    }

    /// Reads an `a{yv}` with values of type `ay`. A dictionary has no order, so the structures are sorted by type.
    private static func structures(_ value: inout MessageReader) throws(DBusError) -> [AdvertisingStructure] {
        var structures: [AdvertisingStructure] = []
        var entries = try value.array()
        while !entries.isAtEnd {
            var entry = try entries.entry()
            let type = try entry.byte()
            var bytes = try entry.variant()
            structures.append(AdvertisingStructure(type: type, bytes: try bytes.bytes()))
        }
        return structures.sorted { $0.type < $1.type }
    }

    /// Reads an `a{sv}` with values of type `ay`.
    private static func serviceData(_ value: inout MessageReader) throws(DBusError) -> DataTable<BluetoothUUID> {
        var data = DataTable<BluetoothUUID>()
        try value.forEachProperty { (name, bytes) throws(DBusError) in
            if let uuid = BluetoothUUID(utf8: name.utf8) { data.set(uuid, try bytes.bytes()) }
        }
        return data
    }
}

/// The properties of a service, characteristic or descriptor in a message. Missing properties are nil.
struct AttributeProperties: Equatable {
    var uuid: BluetoothUUID?
    var isPrimary: Bool?
    var flags: CharacteristicProperties?
    /// The paths of the services that a service includes.
    var includes: [String]?
    /// Changes in the use of a characteristic.
    var uses: [AttributeUse: Bool] = [:]

    mutating func read(_ name: MessageString, _ value: inout MessageReader) throws(DBusError) {
        if let use = AttributeUse(property: name) { uses[use] = try value.boolean() }
        switch name {
        case "UUID": uuid = BluetoothUUID(try value.string())
        case "Primary": isPrimary = try value.boolean()
        case "Flags":
            let names = Set(try value.strings())
            flags = CharacteristicProperties(
                CharacteristicProperties.names.filter { names.contains($0.name) }.map(\.property))
        case "Includes":
            var (elements, paths) = (try value.array(), [String]())
            while !elements.isAtEnd { paths.append(try elements.objectPath()) }
            includes = paths
        default: break
        }
    }
}

/// The properties of one interface of one object in a message.
enum InterfaceProperties: Equatable {
    case adapter(AdapterProperties)
    case device(DeviceProperties)
    case attribute(AttributeKind, AttributeProperties)

    /// Reads the properties in an `a{sv}`. Nil for an interface that is not used here. A property whose type is not the
    /// documented one is ignored.
    init?(interface: MessageString, _ reader: inout MessageReader) throws(DBusError) {
        switch interface {
        case "org.bluez.Device1":
            var properties = DeviceProperties()
            try reader.forEachProperty { (name, value) throws(DBusError) in try? properties.read(name, &value) }
            self = .device(properties)
        case "org.bluez.Adapter1":
            var properties = AdapterProperties()
            try reader.forEachProperty { (name, value) throws(DBusError) in try? properties.read(name, &value) }
            self = .adapter(properties)
        default:
            guard let kind = AttributeKind(interface: interface) else {
                reader.skip()
                return nil
            }
            var properties = AttributeProperties()
            try reader.forEachProperty { (name, value) throws(DBusError) in try? properties.read(name, &value) }
            self = .attribute(kind, properties)
        }
    }

    /// Reads the list of invalidated properties, which follows in a `PropertiesChanged` signal.
    mutating func readInvalidated(_ reader: inout MessageReader) throws(DBusError) {
        guard case .device(var properties) = self else { return }
        var names = try reader.array()
        while !names.isAtEnd { properties.readInvalidated(try names.text()) }
        self = .device(properties)
    }
}

/// The three kinds of attributes that BlueZ shows as objects.
enum AttributeKind: Equatable {
    case service
    case characteristic
    case descriptor

    init?(interface: MessageString) {
        switch interface {
        case "org.bluez.GattService1": self = .service
        case "org.bluez.GattCharacteristic1": self = .characteristic
        case "org.bluez.GattDescriptor1": self = .descriptor
        default: return nil
        }
    }

    /// Creates the kind from an interface's name as a Swift string, which `InterfacesRemoved` contains.
    init?(interface: String) {
        switch interface {
        case BlueZ.gattService: self = .service
        case BlueZ.gattCharacteristic: self = .characteristic
        case BlueZ.gattDescriptor: self = .descriptor
        default: return nil
        }
    }
}
