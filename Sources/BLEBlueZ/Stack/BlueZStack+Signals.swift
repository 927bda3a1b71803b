internal import DBus
internal import Logging
internal import Waiting

/// Reads bluetoothd's signals.
extension BlueZStack {
    func receive(_ message: IncomingMessage) {
        // A role that joins meanwhile begins afterward, with a listing of its own.
        guard !isDraining else { return }
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
        } else if packetAdapter != nil, interface == "org.bluez.Device1" {
            try deviceChanged(message.path, &body)
        } else if var properties = try InterfaceProperties(interface: interface, &body) {
            try properties.readInvalidated(&body)
            update { $0.update(message.path.string, properties) }
        }
    }

    /// Handles the changed properties of a device, while a role receives advertisements from the kernel.
    private func deviceChanged(_ path: MessageString, _ body: inout MessageReader) throws(DBusError) {
        var properties = DeviceProperties()
        if try !properties.read(&body, advertised: advertised(of: DevicePath(path))) {
            var invalidated = body
            if try invalidated.array().isAtEnd { return }
        }
        var changed = InterfaceProperties.device(properties)
        try changed.readInvalidated(&body)
        update { $0.update(path.string, changed) }
    }

    /// What bluetoothd reports of a device's advertisements and is read, although they may arrive from the kernel.
    ///
    /// They are most of what is signaled: bluetoothd 5.87 and earlier signal the strength of each packet. The first one
    /// is read, because it shows that the device is in range, the end of which is reported, too, and must be known.
    func advertised(of path: DevicePath?) -> DeviceProperties.Advertised {
        guard let path, path.adapter == packetAdapter else { return .all }
        return tree.devices[path]?.isHeard == true ? .none : .strength
    }

    /// Handles the changed properties of a characteristic. This is the hot path: every notification is such a change.
    private func characteristicChanged(_ path: MessageString, _ body: inout MessageReader) throws(DBusError) {
        let deliver = delivery(path)
        try body.forEachProperty { (name, value) throws(DBusError) in
            if name == "Value" {
                if let deliver, let bytes = try? value.bytes() { deliver(bytes) }
            } else if let use = AttributeUse(property: name), let isOn = try? value.boolean() {
                recordUse(path.string, use, isOn)
            }
        }
    }

    private func interfacesAdded(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = try body.objectPath()
        var interfaces = try body.array()
        while !interfaces.isAtEnd {
            var interface = try interfaces.entry()
            let name = try interface.text()
            guard let properties = try InterfaceProperties(interface: name, &interface) else { continue }
            update { $0.add(path, properties) }
        }
        waits.look(path)
    }

    private func interfacesRemoved(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        let path = try body.objectPath()
        let interfaces = try body.strings()
        let wasThere = tree.isThere(path)
        update { $0.remove(path, interfaces: interfaces) }
        if wasThere, !tree.isThere(path) { loseCalls(of: path) }
    }

    /// Records the reason for a disconnect. Sent shortly before `Connected` becomes false, from bluetoothd 5.83 on.
    private func disconnected(_ message: IncomingMessage) throws(DBusError) {
        var body = message.body
        noteLinkEnd(message.path.string, ObjectTree.LinkEnd(reason: try body.string(), message: try body.string()))
    }
}
