internal import BLE
internal import DBus
internal import Waiting

/// bluetoothd's objects, as reported to this client. Messages update it, and it returns the changes.
///
/// Unknown objects and unknown properties are normal, and are ignored.
struct ObjectTree: Sendable {
    private(set) var adapters: [String: AdapterObject] = [:]
    private(set) var devices = DeviceTable()
    /// The attributes, by the path of their device and then by their own path.
    private var attributes: [String: [String: AttributeObject]] = [:]
    /// The uses of characteristics by all clients of bluetoothd, with the same keys. Does not contain unused
    /// characteristics.
    private var uses: [String: [String: AttributeUse]] = [:]
    /// The paths of devices whose path does not contain their adapter and address, by the path that would.
    private var paths: [DevicePath: DevicePath] = [:]
    /// The devices that only the kernel has heard.
    private var strangers = Strangers()

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
        devices.change(path) { device in if device.isConnected { device.linkEnd = Boxed(end) } }
    }

    /// Updates the properties of an object. Does nothing if the object is unknown or was removed.
    mutating func update(_ path: String, _ properties: InterfaceProperties) -> [Change] {
        switch properties {
        case .adapter: return adapters[path] != nil ? add(path, properties) : []
        case .device(let properties):
            guard let update = devices.change(path, { $0.update(properties) }) else { return [] }
            return changes(path, update)
        case .attribute: return hasAttribute(path) ? add(path, properties) : []
        }
    }

    /// Applies an advertisement that the kernel has received. Returns nil if bluetoothd has no object for its sender.
    mutating func receive(
        _ received: ReceivedAdvertisement
    ) -> (id: Peripheral.ID, advertisement: Advertisement)? {
        // The path can be that of another device by now, which then does not accept it.
        let usual = DevicePath(received.sender.address, adapter: received.adapter)
        if let heard = devices.change(usual, { $0.receive(received) }) ?? nil { return heard }
        guard !paths.isEmpty, let path = paths[usual] else { return nil }
        return devices.change(path) { $0.receive(received) } ?? nil
    }

    /// Applies one whose sender has no object. Returns what is known of the sender. Nil if another device has the same
    /// address of the other type, and therefore the same id.
    mutating func receiveStranger(
        _ received: ReceivedAdvertisement
    ) -> (id: Peripheral.ID, advertisement: Advertisement)? {
        guard devices[DevicePath(received.sender.address, adapter: received.adapter)] == nil else { return nil }
        return strangers.receive(received)
    }

    /// Whether the kernel has heard a device that has no object with an adapter, also in an earlier scan.
    func isStranger(_ id: DeviceID, adapter: String) -> Bool {
        DevicePath(id, adapter: adapter).map { strangers.contains($0.address, adapter: $0.adapter) } ?? false
    }

    /// The devices that only the kernel has heard.
    var strangerIDs: [DeviceID] { strangers.ids }

    /// Returns the devices that only the kernel has heard, and that are not kept any more: too many, or those of
    /// another adapter.
    mutating func takeForgotten(adapter: String) -> [DeviceID] {
        strangers.takeForgotten().filter { !isStranger($0, adapter: adapter) && device($0, adapter: adapter) == nil }
    }

    /// Forgets the signal strengths that only the kernel has reported: bluetoothd does not report their end. Devices
    /// without objects are still known, to connect to.
    mutating func endReception() { devices.changeAll { if $0.needsEndOfReception { $0.endReception() } } }

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
            if let value = properties.isPairable { adapter.isPairable = value }
            if let value = properties.version { adapter.version = value }
            return adapters.updateValue(adapter, forKey: path) == adapter ? [] : [.adapter(path)]
        case .device(let properties):
            return changes(path, devices.update(path) { $0.update(properties) })
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

    /// Returns the changes of a device that was updated.
    private mutating func changes(_ path: String, _ update: DeviceUpdate) -> [Change] {
        if let former = update.formerIdentity, let device = devices[path] {
            forgetIdentity(path, former.address, adapter: former.adapter)
            for id in [device.identity, device.id] { if let address = id?.address { strangers.remove(address) } }
            if let usual = device.identity.flatMap({ DevicePath($0, adapter: device.adapter) }),
                let path = DevicePath(path), path != usual
            {
                paths[usual] = path
            }
        }
        guard !update.isPlain else { return update.isHeard ? [.heard(path)] : [] }
        var changes: [Change] = []
        if update.isHeard { changes.append(.heard(path)) }
        if update.hasNewState { changes.append(.device(path)) }
        if update.hasPaired { changes.append(.paired(path)) }
        if update.hasDisconnected {
            changes.append(.disconnected(path, address: devices[path]?.address ?? "", update.linkEnd))
        }
        return changes
    }

    /// Removes interfaces of an object.
    mutating func remove(_ path: String, interfaces: [String]) -> [Change] {
        var changes: [Change] = []
        for interface in interfaces {
            switch interface {
            case BlueZ.adapter:
                guard adapters.removeValue(forKey: path) != nil else { continue }
                // bluetoothd removes the devices first. If it has not, they are removed here: they must not outlast the
                // adapter, since their changes are ignored once another adapter is in use.
                for device in devices.paths(where: { _ in true }) where device.hasPrefix(path + "/") {
                    (attributes[device], uses[device]) = (nil, nil)
                    changes += removeDevice(device)
                }
                changes.append(.adapter(path))
            case BlueZ.device: changes += removeDevice(path)
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

    private mutating func removeDevice(_ path: String) -> [Change] {
        guard let device = devices.remove(path) else { return [] }
        // The kernel still hears it.
        if device.reception != .none, let path = DevicePath(path) { strangers.insert(device, adapter: path.adapter) }
        forgetIdentity(path, device.identity, adapter: device.adapter)
        // bluetoothd may remove a device without having signaled the end of its link.
        let end = device.isConnected ? [Change.disconnected(path, address: device.address, device.linkEnd?.value)] : []
        return end + [.device(path), .removed(path, address: device.address)]
    }

    private mutating func forgetIdentity(_ path: String, _ identity: DeviceID?, adapter: String) {
        guard !paths.isEmpty, let identity, let usual = DevicePath(identity, adapter: adapter) else { return }
        if paths[usual] == DevicePath(path) { paths[usual] = nil }
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
        var slashes = 0
        for index in path.utf8.indices where path.utf8[index] == UInt8(ascii: "/") {
            slashes += 1
            if slashes == 5 { return String(path[..<index]) }
        }
        return nil
    }

    /// Returns the path of the device with an address on an adapter. The address may also be the one with which the
    /// device was first received.
    func device(address: String, adapter: String) -> String? {
        device(DeviceID(address: address), adapter: adapter)
    }

    /// Returns the same for an id.
    func device(_ id: DeviceID, adapter: String) -> String? {
        // BlueZ builds the path from the address when it creates the object. The address may change later, when pairing
        // has revealed the identity address behind a private one.
        if let usual = devices.path(of: id, adapter: adapter) { return usual }
        return paths.isEmpty ? nil : DevicePath(id, adapter: adapter).flatMap { paths[$0]?.text }
    }

    /// Returns all devices on an adapter, including cached ones.
    func peripherals(onAdapter adapter: String) -> [KnownPeripheral] {
        devices.compactMap { device in
            guard device.adapter == adapter else { return nil }
            return KnownPeripheral(id: device.id, advertisement: device.advertisement, isConnected: device.isConnected)
        }
    }

    func hasAttribute(_ path: String) -> Bool {
        Self.device(ofAttribute: path).map { attributes[$0]?[path] != nil } ?? false
    }

    /// Whether the device or the attribute at a path exists.
    func isThere(_ path: String) -> Bool { devices[path] != nil || hasAttribute(path) }

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
