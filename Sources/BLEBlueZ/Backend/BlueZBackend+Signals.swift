internal import BLE
internal import DBus
internal import Logging

/// Translates signals into the central's events.
extension BlueZBackend {
    // MARK: Listening

    func receive(_ message: IncomingMessage) {
        do throws(DBusError) {
            switch message.member {
            case "PropertiesChanged": try propertiesChanged(message)
            case "InterfacesAdded": try interfacesAdded(message)
            case "InterfacesRemoved": try interfacesRemoved(message)
            case "Disconnected": try disconnected(message)
            default: break
            }
        } catch {
            logger.info(
                "a signal could not be read", metadata: ["member": "\(message.member.string)", "error": "\(error)"])
        }
    }

    private func propertiesChanged(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let interface = try body.text()
        if interface == "org.bluez.GattCharacteristic1" {
            try characteristicChanged(message.path, &body)
        } else if var properties = try InterfaceProperties(interface: interface, &body) {
            try properties.readInvalidated(&body)
            carryOut(tree.update(message.path.string, properties))
        }
    }

    /// Handles the changed properties of a characteristic. This is the hot path: every notification is such a change.
    private func characteristicChanged(_ path: MessageString, _ body: inout MessageReader) throws(DBusError) {
        let deliver = delivery(path)
        try body.forEachProperty { (name, value) throws(DBusError) in
            if name == "Value" {
                if let deliver, let bytes = try? value.bytes() { deliver(bytes) }
            } else if let use = AttributeUse(property: name), let isOn = try? value.boolean() {
                let path = path.string
                guard tree.hasAttribute(path) else { return }
                tree.use(path, use, isOn)
                // If this client had acquired the socket, the acquisition has ended.
                if !isOn, let device = ObjectTree.device(ofAttribute: path) {
                    acquisitionEnded(Acquisition(path: path, use: use), Self.id(inPath: device))
                }
            }
        }
    }

    private func delivery(_ path: MessageString) -> (@Sendable ([UInt8]) -> Void)? {
        if let lastDelivery, path == lastDelivery.path { return lastDelivery.deliver }
        guard !deliveries.isEmpty else { return nil }
        let path = path.string
        lastDelivery = deliveries[path].map { (path, $0) }
        return lastDelivery?.deliver
    }

    private func interfacesAdded(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = try body.objectPath()
        var interfaces = try body.array()
        while !interfaces.isAtEnd {
            var interface = try interfaces.entry()
            let name = try interface.text()
            guard let properties = try InterfaceProperties(interface: name, &interface) else { continue }
            carryOut(tree.add(path, properties))
        }
    }

    private func interfacesRemoved(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = try body.objectPath()
        carryOut(tree.remove(path, interfaces: try body.strings()))
    }

    /// Records the reason for a disconnect. Sent shortly before `Connected` becomes false, from bluetoothd 5.82 on.
    private func disconnected(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = message.path.string
        guard tree.devices[path]?.isConnected == true else { return }
        disconnectReasons[path] = (try body.string(), try body.string())
    }

    // MARK: Reporting

    func report(_ event: BackendEvent) {
        context?.handleEvent(event)
    }

    /// Returns the id of a device on the adapter in use: the address with which it was first received. BlueZ keeps that
    /// address in the path when pairing reveals the identity address behind a private one, which changes the property
    /// `Address`.
    func id(ofDevice path: String) -> Peripheral.ID? {
        guard let device = tree.devices[path], device.adapter == adapter else { return nil }
        return Self.id(inPath: path)
    }

    /// Returns all ids by which a central may know a device: that of its path, and its identity address if that
    /// differs.
    func ids(ofDevice path: String, address: String) -> [Peripheral.ID] {
        let ids = [Self.id(inPath: path), Peripheral.ID(rawValue: address)]
        return ids[0] == ids[1] || address.isEmpty ? [ids[0]] : ids
    }

    /// Returns the id in the path of a device: `…/dev_F0_F1_F2_F3_F4_F5` is `F0:F1:F2:F3:F4:F5`.
    static func id(inPath path: String) -> Peripheral.ID {
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.flatMap { String($0) } ?? path
        return Peripheral.ID(rawValue: String(name.dropFirst("dev_".count).map { $0 == "_" ? ":" : $0 }))
    }

    func carryOut(_ changes: [ObjectTree.Change]) {
        for change in changes {
            switch change {
            case .adapter(let path):
                // A new adapter replaces one that is gone. The loss is reported even if both are powered on, because
                // nothing that was in progress on the first continues on the second.
                if !isFormerAdapterAwaited { reportAdapterState() }
                if tree.adapters[adapter] == nil, !isFormerAdapterAwaited, let path = preferredAdapter() {
                    adapter = path
                    reportAdapterState()
                }
                look(path)
            case .heard(let path):
                if isListening, let id = id(ofDevice: path), let device = tree.devices[path] {
                    report(.advertisementReceived(id, device.advertisement))
                }
            case .device(let path): look(path)
            case .disconnected(let path, let address):
                linkEnded(path, address)
                look(path)
            case .paired(let path):
                if let id = id(ofDevice: path) { report(.pairingEnded(id)) }
            case .removed(let path, let address, let owner):
                disconnectReasons[path] = nil
                linkEndErrors[path] = nil
                guard owner == adapter else { continue }
                for id in ids(ofDevice: path, address: address) { report(.peripheralRemoved(id)) }
            case .attributes(let path):
                attributesChanged(path)
                look(path)
            }
        }
    }

    /// Handles the end of this client's scan without its request.
    func voidDiscovery() {
        isDiscovering = false
        discoveryEpoch += 1
        forgetPassiveScan()
    }

    func reportAdapterState() {
        let state = adapterState()
        guard state != reportedAdapterState else { return }
        reportedAdapterState = state
        if state != .poweredOn { voidDiscovery() }
        report(.adapterStateChanged(state))
    }
}
