internal import BLE
internal import DBus

/// bluetoothd's objects, as reported to this client. Messages update it, and it returns the changes.
///
/// Unknown objects and unknown properties are normal, and are ignored.
struct ObjectTree: Sendable {
    private(set) var adapters: [String: AdapterObject] = [:]
    private(set) var devices: [String: DeviceObject] = [:]
    /// The attributes, by the path of their device and then by their own path.
    private var attributes: [String: [String: AttributeObject]] = [:]
    /// The uses of characteristics by all clients of bluetoothd, with the same keys. Without unused characteristics.
    private var uses: [String: [String: AttributeUse]] = [:]
    /// The paths of the devices, by adapter and address.
    private var paths: [Identity: String] = [:]

    private struct Identity: Hashable {
        let adapter: String
        let address: String
    }

    init() {}

    // MARK: Messages

    /// Reads the answer to `GetManagedObjects`.
    init(managedObjects body: inout MessageReader) throws(DBusError) {
        var objects = try body.array()
        while !objects.isAtEnd {
            var object = try objects.entry()
            let path = try object.objectPath()
            var interfaces = try object.array()
            while !interfaces.isAtEnd {
                var interface = try interfaces.entry()
                let name = try interface.text()
                guard let properties = try InterfaceProperties(interface: name, &interface) else { continue }
                _ = add(path, properties)
            }
        }
    }

    /// Records why the link of a device is about to end. Does nothing without a link.
    mutating func noteLinkEnd(_ path: String, _ end: LinkEnd) {
        if devices[path]?.isConnected == true { devices[path]?.linkEnd = end }
    }

    /// Updates the properties of an object. Does nothing if the object is unknown or was removed.
    mutating func update(_ path: String, _ properties: InterfaceProperties) -> [Change] {
        let isKnown =
            switch properties {
            case .adapter: adapters[path] != nil
            case .device: devices[path] != nil
            case .attribute: hasAttribute(path)
            }
        return isKnown ? add(path, properties) : []
    }

    /// Adds an interface of an object, or updates its properties.
    mutating func add(_ path: String, _ properties: InterfaceProperties) -> [Change] {
        switch properties {
        case .adapter(let properties):
            var adapter = adapters[path] ?? AdapterObject()
            if let value = properties.address { adapter.address = value }
            if let value = properties.addressType { adapter.isAddressRandom = value == .random }
            if let value = properties.alias { adapter.alias = value }
            if let value = properties.systemName { adapter.systemName = value }
            if let value = properties.isPowered { adapter.isPowered = value }
            if let value = properties.isDiscovering { adapter.isDiscovering = value }
            return adapters.updateValue(adapter, forKey: path) == adapter ? [] : [.adapter(path)]
        case .device(let properties):
            return update(path, properties)
        case .attribute(let kind, let properties):
            guard let device = Self.device(ofAttribute: path) else { return [] }
            for (use, isOn) in properties.uses { self.use(path, use, isOn) }
            var attribute = attributes[device]?[path] ?? AttributeObject(kind: kind)
            if let value = properties.uuid { attribute.uuid = value }
            if let value = properties.isPrimary { attribute.isPrimary = value }
            if let value = properties.flags { attribute.flags = value }
            if let value = properties.includes { attribute.includes = value }
            let isNew = attributes[device, default: [:]].updateValue(attribute, forKey: path) != attribute
            return isNew ? [.attributes(device)] : []
        }
    }

    private mutating func update(_ path: String, _ properties: DeviceProperties) -> [Change] {
        var device = devices[path] ?? DeviceObject(id: Peripheral.ID(devicePath: path))
        let before = device
        if let value = properties.address { device.address = value }
        if let value = properties.adapter { device.adapter = value }
        // The advertised name takes precedence over the name that is read on a connection. BlueZ shows the latest of
        // the two.
        if let value = properties.name, !before.isConnected || before.advertisement.localName == nil {
            device.advertisement.localName = value
        }
        if let value = properties.rssi {
            device.advertisement.rssi = value
            device.isHeard = true
        }
        if let value = properties.txPower { device.advertisement.txPower = value }
        if let value = properties.uuids { device.advertisement.serviceUUIDs = value }
        if let value = properties.manufacturerData { device.advertisement.manufacturerData = value }
        if let value = properties.serviceData { device.advertisement.serviceData = value }
        if let value = properties.appearance { device.advertisement.appearance = Appearance(rawValue: value) }
        if let value = properties.deviceClass { device.advertisement.deviceClass = value }
        if let value = properties.addressType { device.advertisement.addressType = value }
        if let value = properties.flags { device.advertisement.flags = value }
        if let value = properties.structures { device.advertisement.adopt(value) }
        if let value = properties.isConnected { device.isConnected = value }
        if let value = properties.areServicesResolved { device.areServicesResolved = value }
        if let value = properties.isPaired { device.isPaired = value }
        if let value = properties.isTrusted { device.isTrusted = value }
        if let value = properties.isBlocked { device.isBlocked = value }
        if properties.lostRSSI {
            device.advertisement.rssi = nil
            device.isHeard = false
        }
        if properties.lostTxPower { device.advertisement.txPower = nil }
        if !device.isConnected { device.linkEnd = nil }
        devices[path] = device
        if before.address != device.address || before.adapter != device.adapter {
            forgetIdentity(path, before)
            if !device.address.isEmpty { paths[Identity(adapter: device.adapter, address: device.address)] = path }
        }

        var changes: [Change] = []
        // A device that is only remembered has no RSSI, and properties that are learned on a connection are no
        // advertisement.
        let learned = before.advertisement != device.advertisement && !device.isConnected
        if device.isHeard, properties.isAdvertisement || learned { changes.append(.heard(path)) }
        if before.isConnected != device.isConnected || before.areServicesResolved != device.areServicesResolved {
            changes.append(.device(path))
        }
        if !before.isPaired, device.isPaired { changes.append(.paired(path)) }
        if before.isConnected, !device.isConnected {
            changes.append(.disconnected(path, address: device.address, before.linkEnd))
        }
        return changes
    }

    /// Removes interfaces of an object.
    mutating func remove(_ path: String, interfaces: [String]) -> [Change] {
        var changes: [Change] = []
        for interface in interfaces {
            switch interface {
            case BlueZ.adapter:
                if adapters.removeValue(forKey: path) != nil { changes.append(.adapter(path)) }
            case BlueZ.device:
                guard let device = devices.removeValue(forKey: path) else { continue }
                forgetIdentity(path, device)
                // bluetoothd may remove a device without having signaled the end of its link.
                if device.isConnected {
                    changes.append(.disconnected(path, address: device.address, device.linkEnd))
                }
                changes += [.device(path), .removed(path, address: device.address, adapter: device.adapter)]
            default:
                guard AttributeKind(interface: interface) != nil, let device = Self.device(ofAttribute: path),
                    attributes[device]?.removeValue(forKey: path) != nil
                else { continue }
                if attributes[device]?.isEmpty == true { attributes[device] = nil }
                for use in [AttributeUse.notifying, .notifyAcquired, .writeAcquired] { self.use(path, use, false) }
                changes.append(.attributes(device))
            }
        }
        return changes
    }

    private mutating func forgetIdentity(_ path: String, _ device: DeviceObject) {
        let identity = Identity(adapter: device.adapter, address: device.address)
        if paths[identity] == path { paths[identity] = nil }
    }

    /// Records that a client of bluetoothd uses a characteristic, or that no client does any more.
    mutating func use(_ path: String, _ use: AttributeUse, _ isOn: Bool) {
        guard let device = Self.device(ofAttribute: path) else { return }
        var now = uses[device]?[path] ?? []
        if isOn { now.insert(use) } else { now.remove(use) }
        if !now.isEmpty {
            uses[device, default: [:]][path] = now
        } else if uses[device]?.removeValue(forKey: path) != nil, uses[device]?.isEmpty == true {
            uses[device] = nil
        }
    }

    // MARK: Queries

    /// Returns the path of the device of an attribute: the beginning of its path, `/org/bluez/hci0/dev_…`.
    static func device(ofAttribute path: String) -> String? {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 4, omittingEmptySubsequences: true)
        guard parts.count == 5 else { return nil }
        return String(path.utf8.prefix(upTo: parts[3].endIndex))
    }

    /// Returns the path of the device with an address on an adapter. The address may also be the one with which the
    /// device was first received.
    func device(address: String, adapter: String) -> String? {
        // BlueZ builds the path from the address when it creates the object. The address may change later, when pairing
        // has revealed the identity address behind a private one.
        let usual = "\(adapter)/dev_\(String(address.map { $0 == ":" ? "_" : $0 }))"
        if devices[usual]?.address.isEmpty == false { return usual }
        return paths[Identity(adapter: adapter, address: address)]
    }

    /// Returns all devices on an adapter, including cached ones.
    func peripherals(onAdapter adapter: String) -> [KnownPeripheral] {
        devices.values.filter { $0.adapter == adapter }.map { device in
            KnownPeripheral(id: device.id, advertisement: device.advertisement, isConnected: device.isConnected)
        }
    }

    func hasAttribute(_ path: String) -> Bool {
        Self.device(ofAttribute: path).map { attributes[$0]?[path] != nil } ?? false
    }

    /// Returns the characteristics of a device that any client of bluetoothd uses, and how.
    func uses(ofDevice device: String) -> [String: AttributeUse] { uses[device] ?? [:] }

    /// Returns the path of any characteristic of a device.
    func characteristic(ofDevice device: String) -> String? {
        attributes[device]?.first { $0.value.kind == .characteristic }?.key
    }

    /// Returns the attributes of a device as a database, with their paths.
    func database(ofDevice device: String) -> (database: GATTDatabase, paths: [UInt16: String]) {
        var paths: [UInt16: String] = [:]
        var children: [String: [(path: String, handle: UInt16, object: AttributeObject)]] = [:]
        for (path, object) in attributes[device] ?? [:] {
            guard let handle = BlueZ.handle(ofPath: path), let slash = path.lastIndex(of: "/") else { continue }
            paths[handle] = path
            children[String(path[..<slash]), default: []].append((path, handle, object))
        }
        func sorted(_ path: String, _ kind: AttributeKind) -> [(path: String, handle: UInt16, object: AttributeObject)]
        {
            (children[path] ?? []).filter { $0.object.kind == kind && $0.object.uuid != nil }
                .sorted { $0.handle < $1.handle }
        }
        let services = sorted(device, .service).map { service in
            GATTService(
                uuid: service.object.uuid!, handle: service.handle, isPrimary: service.object.isPrimary,
                characteristics: sorted(service.path, .characteristic).map { characteristic in
                    GATTCharacteristic(
                        uuid: characteristic.object.uuid!, handle: characteristic.handle,
                        properties: characteristic.object.flags,
                        descriptors: sorted(characteristic.path, .descriptor).map {
                            GATTDescriptor(uuid: $0.object.uuid!, handle: $0.handle)
                        })
                },
                includedHandles: service.object.includes.compactMap { BlueZ.handle(ofPath: $0) }.sorted())
        }
        return (GATTDatabase(services: services), paths)
    }
}
