internal import BLE

extension ProxyMessage {
    /// The number and the bytes of the message.
    ///
    /// - Parameter version: that of the other side, which decides how UUIDs are written.
    package func encoded(for version: APIVersion = .current) -> (type: UInt16, body: [UInt8]) {
        var writer = FieldWriter()
        let type = write(to: &writer, version)
        return (type, writer.bytes)
    }

    private func write(to writer: inout FieldWriter, _ version: APIVersion) -> UInt16 {
        switch self {
        case .hello(let client, let version):
            writer.write(client, 1)
            writer.write(version.major, 2)
            writer.write(version.minor, 3)
            return 1
        case .helloAnswer(let version, let server, let name):
            writer.write(version.major, 1)
            writer.write(version.minor, 2)
            writer.write(server, 3)
            writer.write(name, 4)
            return 2
        case .disconnect(let reason):
            writer.write(reason, 1)
            return 5
        case .disconnectAnswer: return 6
        case .ping: return 7
        case .pingAnswer: return 8
        case .deviceInfoRequest: return 9
        case .deviceInfo(let info):
            writer.write(info)
            return 10
        case .listEntities: return 11
        case .listEntitiesDone: return 19
        case .subscribeAdvertisements(let flags):
            writer.write(flags, 1)
            return 66
        case .unsubscribeAdvertisements: return 87
        case .advertisements(let advertisements):
            for advertisement in advertisements { writer.write(advertisement) }
            return 93
        case .scannerState(let state, let mode, let configured):
            writer.write(state.rawValue, 1)
            writer.write(mode.rawValue, 2)
            writer.write(configured.rawValue, 3)
            return 126
        case .setScannerMode(let mode):
            writer.write(mode.rawValue, 1)
            return 127
        case .subscribeSlots: return 80
        case .slots(let slots):
            writer.write(slots.free, 1)
            writer.write(slots.limit, 2)
            writer.write(packed: slots.allocated, 3)
            return 81
        case .capabilitiesRequest: return 149
        case .capabilities(let features, let mac):
            var proxy = FieldWriter()
            proxy.write(features.rawValue, 1)
            proxy.write(mac, 2)
            writer.writeMessage(proxy.bytes, 1)
            return 150
        case .other(let type): return UInt16(truncatingIfNeeded: type)
        default: return writePeripheralMessage(to: &writer, version)
        }
    }

    /// The messages of one peripheral begin with its address.
    private func writePeripheralMessage(to writer: inout FieldWriter, _ version: APIVersion) -> UInt16 {
        switch self {
        case .request(let request, let address, let addressType):
            writer.write(address, 1)
            writer.write(request.rawValue, 2)
            writer.write(addressType != nil, 3)
            writer.write(addressType ?? 0, 4)
            return 68
        case .connection(let address, let isConnected, let mtu, let error):
            writer.write(address, 1)
            writer.write(isConnected, 2)
            writer.write(mtu, 3)
            writer.write(signed: error, 4)
            return 69
        case .servicesRequest(let address):
            writer.write(address, 1)
            return 70
        case .services(let address, let services):
            writer.write(address, 1)
            for service in services { writer.write(service, for: version) }
            return 71
        case .servicesDone(let address):
            writer.write(address, 1)
            return 72
        case .setConnectionParameters(let address, let minimum, let maximum, let latency, let timeout):
            writer.write(address, 1)
            for (index, number) in [minimum, maximum, latency, timeout].enumerated() { writer.write(number, 2 + index) }
            return 145
        case .connectionParameters(let address, let error):
            writer.write(address, 1)
            writer.write(signed: error, 2)
            return 146
        case .paired(let address, let isSuccess, let error): return writer.write(85, address, isSuccess, error)
        case .unpaired(let address, let isSuccess, let error): return writer.write(86, address, isSuccess, error)
        case .cacheCleared(let address, let isSuccess, let error): return writer.write(88, address, isSuccess, error)
        default: return writeAttributeMessage(to: &writer)
        }
    }

    /// The messages of one attribute begin with the address of its peripheral and its handle.
    private func writeAttributeMessage(to writer: inout FieldWriter) -> UInt16 {
        switch self {
        case .read(let address, let handle): return writer.write(73, address, handle)
        case .readAnswer(let address, let handle, let value):
            defer { writer.write(value, 3) }
            return writer.write(74, address, handle)
        case .write(let address, let handle, let withResponse, let value):
            defer {
                writer.write(withResponse, 3)
                writer.write(value, 4)
            }
            return writer.write(75, address, handle)
        case .readDescriptor(let address, let handle): return writer.write(76, address, handle)
        case .writeDescriptor(let address, let handle, let value):
            defer { writer.write(value, 3) }
            return writer.write(77, address, handle)
        case .notify(let address, let handle, let isEnabled):
            defer { writer.write(isEnabled, 3) }
            return writer.write(78, address, handle)
        case .notification(let address, let handle, let value):
            defer { writer.write(value, 3) }
            return writer.write(79, address, handle)
        case .attributeError(let address, let handle, let error):
            defer { writer.write(signed: error, 3) }
            return writer.write(82, address, handle)
        case .writeAnswer(let address, let handle): return writer.write(83, address, handle)
        case .notifyAnswer(let address, let handle): return writer.write(84, address, handle)
        default: return 0
        }
    }
}

extension FieldWriter {
    fileprivate mutating func write(_ type: UInt16, _ address: UInt64, _ handle: UInt32) -> UInt16 {
        write(address, 1)
        write(handle, 2)
        return type
    }

    fileprivate mutating func write(_ type: UInt16, _ address: UInt64, _ isSuccess: Bool, _ error: Int32) -> UInt16 {
        write(address, 1)
        write(isSuccess, 2)
        write(signed: error, 3)
        return type
    }

    fileprivate mutating func write(_ info: ProxyInfo) {
        write(info.name, 2)
        write(info.mac, 3)
        write(info.version, 4)
        write(info.model, 6)
        write(info.projectName, 8)
        write(info.projectVersion, 9)
        write(info.manufacturer, 12)
        write(info.friendlyName, 13)
        write(info.features.rawValue, 15)
        write(info.bluetoothMAC, 18)
        write(info.isEncryptionSupported, 19)
    }

    fileprivate mutating func write(_ advertisement: RawAdvertisement) {
        var writer = FieldWriter()
        writer.write(advertisement.address, 1)
        writer.write(zigzag: advertisement.rssi, 2)
        writer.write(advertisement.addressType, 3)
        writer.write(advertisement.data, 4)
        writeMessage(writer.bytes, 1)
    }

    fileprivate mutating func write(_ service: ProxyService, for version: APIVersion) {
        var writer = FieldWriter()
        writer.write(service.uuid, 1, short: 4, for: version)
        writer.write(service.handle, 2)
        for characteristic in service.characteristics {
            var inner = FieldWriter()
            inner.write(characteristic.uuid, 1, short: 5, for: version)
            inner.write(characteristic.handle, 2)
            inner.write(characteristic.properties, 3)
            for descriptor in characteristic.descriptors {
                var innermost = FieldWriter()
                innermost.write(descriptor.uuid, 1, short: 3, for: version)
                innermost.write(descriptor.handle, 2)
                inner.writeMessage(innermost.bytes, 4)
            }
            writer.writeMessage(inner.bytes, 3)
        }
        writeMessage(writer.bytes, 2)
    }

    /// Writes a UUID as one number if it is short and the other side knows that, or as its two halves.
    private mutating func write(_ uuid: BluetoothUUID, _ field: Int, short: Int, for version: APIVersion) {
        if version >= .shortUUIDs, let number = uuid.short32, number != 0 {
            write(number, short)
        } else {
            write(packed: [uuid.high, uuid.low], field)
        }
    }
}
