internal import BLE
internal import DBus
internal import Logging

/// From a signal to what the central hears of it.
extension BlueZBackend {
    // MARK: Listening

    func receive(_ message: IncomingMessage) {
        do throws(DBusError) {
            if message.member == "PropertiesChanged" {
                var body = message.body
                let interface = try body.text()
                if interface == "org.bluez.GattCharacteristic1" { return try valueChanged(message.path, &body) }
            }
            // What has arrived before this was before this.
            deliverArrived()
            switch message.member {
            case "PropertiesChanged": try propertiesChanged(message)
            case "InterfacesAdded": try interfacesAdded(message)
            case "InterfacesRemoved": try interfacesRemoved(message)
            case "NameOwnerChanged": try nameOwnerChanged(message)
            default: break
            }
        } catch {
            logger.info(
                "a signal could not be read", metadata: ["member": "\(message.member.string)", "error": "\(error)"])
        }
    }

    private func propertiesChanged(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        guard var properties = try InterfaceProperties(interface: try body.text(), &body) else { return }
        try properties.readInvalidated(&body)
        carryOut(tree.update(message.path.string, properties))
    }

    /// The hot path: one notification.
    ///
    /// The values that the loop takes off the bus in one turn are delivered together at its end, so that a reader on another
    /// thread, which is woken by the first, finds them all: waking it costs more than everything else.
    private func valueChanged(_ path: MessageString, _ body: inout MessageReader) throws(DBusError) {
        guard let deliver = delivery(path) else { return }
        try body.forEachProperty { (name, value) throws(DBusError) in
            guard name == "Value" else { return }
            arrived.append((try value.bytes(), deliver))
            if arrived.count == 1 { loop.perform { [weak self] in self?.assumeIsolated { $0.deliverArrived() } } }
        }
    }

    private func deliverArrived() {
        for (value, deliver) in arrived { deliver(value) }
        arrived.removeAll(keepingCapacity: true)
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
            carryOut(tree.update(path, properties))
        }
    }

    private func interfacesRemoved(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = try body.objectPath()
        carryOut(tree.remove(path, interfaces: try body.strings()))
    }

    private func nameOwnerChanged(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        body.skip()
        body.skip()
        if try body.string().isEmpty {
            lose("bluetoothd has stopped")
        } else {
            Task { await self.returned() }
        }
    }

    // MARK: Reporting

    func report(_ event: BackendEvent) {
        context?.handle(event)
    }

    func id(ofDevice path: String) -> Peripheral.ID? {
        guard let device = tree.devices[path], device.adapter == adapter else { return nil }
        return Peripheral.ID(rawValue: device.address)
    }

    func carryOut(_ changes: [ObjectTree.Change]) {
        for change in changes {
            switch change {
            case .adapter: reportAdapterState()
            case .heard(let path):
                if isDiscovering, let id = id(ofDevice: path), let device = tree.devices[path] {
                    report(.advertisement(id, device.advertisement))
                }
            case .device(let path): look(path)
            case .disconnected(let path):
                linkEnded(path)
                look(path)
            case .removed(_, let address, let owner):
                if owner == adapter { report(.removed(Peripheral.ID(rawValue: address))) }
            case .attributes(let path):
                attributesChanged(path)
                look(path)
            }
        }
    }

    private func reportAdapterState() {
        let state = adapterState()
        guard state != reportedAdapterState else { return }
        reportedAdapterState = state
        if state != .poweredOn { isDiscovering = false }
        report(.adapter(state))
    }

    /// bluetoothd or the bus is gone, and with it every object.
    func lose(_ message: String) {
        guard isRunning else { return }
        deliverArrived()
        isRunning = false
        tree = ObjectTree()
        isDiscovering = false
        ownLinks = []
        paths = [:]
        deliveries = [:]
        reportedAdapterState = .unavailable
        report(.lost(.lost(message)))
        report(.adapter(.unavailable))
        for watcher in watchers.values { watcher.look() }
    }

    /// bluetoothd is back.
    private func returned() async {
        do throws(DBusError) {
            try await snapshot()
            reportAdapterState()
        } catch {
            logger.info("bluetoothd is back but does not answer", metadata: ["error": "\(error)"])
        }
    }
}
