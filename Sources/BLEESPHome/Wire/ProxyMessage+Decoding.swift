internal import BLE

extension ProxyMessage {
    /// Decodes a message. Unknown fields and numbers are skipped, and missing fields have their defaults.
    ///
    /// Throws the errors of ``FieldReader`` and `invalidText`.
    package init(type: UInt64, _ body: ArraySlice<UInt8>) throws(WireError) {
        switch type {
        case 1:
            let fields = try Fields(body)
            self = .hello(client: try fields.text(1), version: fields.version(2))
        case 2:
            let fields = try Fields(body)
            self = .helloAnswer(version: fields.version(1), server: try fields.text(3), name: try fields.text(4))
        case 5: self = .disconnect(reason: try Fields(body).small(1))
        case 6: self = .disconnectAnswer
        case 7: self = .ping
        case 8: self = .pingAnswer
        case 9: self = .deviceInfoRequest
        case 10: self = .deviceInfo(try ProxyInfo(body))
        case 11: self = .listEntities
        case 19: self = .listEntitiesDone
        case 66: self = .subscribeAdvertisements(flags: try Fields(body).small(1))
        case 87: self = .unsubscribeAdvertisements
        case 93: self = .advertisements(try RawAdvertisement.list(body))
        case 126:
            let fields = try Fields(body)
            self = .scannerState(
                ScannerState(rawValue: fields.small(1)) ?? .idle, mode: fields.mode(2), configured: fields.mode(3))
        case 127: self = .setScannerMode(try Fields(body).mode(1))
        case 80: self = .subscribeSlots
        case 81: self = .slots(try ProxySlots(body))
        case 149: self = .capabilitiesRequest
        case 150:
            let proxy = try Fields(try Fields(body).bytes(1))
            self = .capabilities(ProxyFeatures(rawValue: proxy.small(1)), mac: try proxy.text(2))
        case 68...86, 88, 145, 146: self = try Self.peripheralMessage(type, body)
        default: self = .other(type)
        }
    }

    private static func peripheralMessage(_ type: UInt64, _ body: ArraySlice<UInt8>) throws(WireError) -> Self {
        if type == 71 { return try services(body) }
        let fields = try Fields(body)
        let (address, handle) = (fields.number(1), fields.small(2))
        switch type {
        case 68:
            // A request of a later version is one that this side does not have.
            guard let request = DeviceRequest(rawValue: fields.small(2)) else { return .other(type) }
            return .request(request, address: address, addressType: fields.isTrue(3) ? fields.small(4) : nil)
        case 69:
            return .connection(
                address: address, isConnected: fields.isTrue(2), mtu: fields.small(3), error: fields.signed(4))
        case 70: return .servicesRequest(address: address)
        case 72: return .servicesDone(address: address)
        case 73: return .read(address: address, handle: handle)
        case 74: return .readAnswer(address: address, handle: handle, Array(fields.bytes(3)))
        case 75:
            return .write(
                address: address, handle: handle, withResponse: fields.isTrue(3), Array(fields.bytes(4)))
        case 76: return .readDescriptor(address: address, handle: handle)
        case 77: return .writeDescriptor(address: address, handle: handle, Array(fields.bytes(3)))
        case 78: return .notify(address: address, handle: handle, isEnabled: fields.isTrue(3))
        case 79: return .notification(address: address, handle: handle, Array(fields.bytes(3)))
        case 82: return .attributeError(address: address, handle: handle, error: fields.signed(3))
        case 83: return .writeAnswer(address: address, handle: handle)
        case 84: return .notifyAnswer(address: address, handle: handle)
        case 85: return .paired(address: address, isPaired: fields.isTrue(2), error: fields.signed(3))
        case 86: return .unpaired(address: address, isUnpaired: fields.isTrue(2), error: fields.signed(3))
        case 88: return .cacheCleared(address: address, isCleared: fields.isTrue(2), error: fields.signed(3))
        case 145:
            return .setConnectionParameters(
                address: address, minimum: fields.small(2), maximum: fields.small(3), latency: fields.small(4),
                timeout: fields.small(5))
        case 146: return .connectionParameters(address: address, error: fields.signed(2))
        default: return .other(type)
        }
    }

    private static func services(_ body: ArraySlice<UInt8>) throws(WireError) -> Self {
        var (reader, address, services): (FieldReader, UInt64, [ProxyService]) = (FieldReader(body), 0, [])
        while let (field, value) = try reader.next() {
            switch field {
            case 1: address = value.number
            case 2: services.append(try ProxyService(value.bytes))
            default: break
            }
        }
        return .services(address: address, services)
    }
}

/// The fields 1 to 5 of a message without lists, of which the last occurrence counts.
private struct Fields {
    private var values = (
        FieldReader.Value.number(0), FieldReader.Value.number(0), FieldReader.Value.number(0),
        FieldReader.Value.number(0), FieldReader.Value.number(0)
    )

    init(_ body: ArraySlice<UInt8>) throws(WireError) {
        var reader = FieldReader(body)
        while let (field, value) = try reader.next() {
            switch field {
            case 1: values.0 = value
            case 2: values.1 = value
            case 3: values.2 = value
            case 4: values.3 = value
            case 5: values.4 = value
            default: break
            }
        }
    }

    private func value(_ field: Int) -> FieldReader.Value {
        switch field {
        case 1: values.0
        case 2: values.1
        case 3: values.2
        case 4: values.3
        default: values.4
        }
    }

    func number(_ field: Int) -> UInt64 { value(field).number }
    func small(_ field: Int) -> UInt32 { UInt32(truncatingIfNeeded: value(field).number) }
    func signed(_ field: Int) -> Int32 { value(field).signed }
    func isTrue(_ field: Int) -> Bool { value(field).isTrue }
    func bytes(_ field: Int) -> ArraySlice<UInt8> { value(field).bytes }
    func text(_ field: Int) throws(WireError) -> String { try value(field).text() }
    func mode(_ field: Int) -> ScannerMode { ScannerMode(rawValue: small(field)) ?? .passive }
    /// A version whose two numbers begin at a field.
    func version(_ field: Int) -> APIVersion { APIVersion(small(field), small(field + 1)) }
}

extension ProxyInfo {
    fileprivate init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init()
        var reader = FieldReader(body)
        while let (field, value) = try reader.next() {
            switch field {
            case 2: name = try value.text()
            case 3: mac = try value.text()
            case 4: version = try value.text()
            case 6: model = try value.text()
            case 8: projectName = try value.text()
            case 9: projectVersion = try value.text()
            case 12: manufacturer = try value.text()
            case 13: friendlyName = try value.text()
            case 15: features = ProxyFeatures(rawValue: UInt32(truncatingIfNeeded: value.number))
            case 18: bluetoothMAC = try value.text()
            case 19: isEncryptionSupported = value.isTrue
            default: break
            }
        }
    }
}

extension RawAdvertisement {
    fileprivate static func list(_ body: ArraySlice<UInt8>) throws(WireError) -> [RawAdvertisement] {
        var (reader, list): (FieldReader, [RawAdvertisement]) = (FieldReader(body), [])
        while let (field, value) = try reader.next() {
            if field == 1 { list.append(try RawAdvertisement(value.bytes)) }
        }
        return list
    }

    private init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init(address: 0, rssi: 0, addressType: 0, data: [])
        var reader = FieldReader(body)
        while let (field, value) = try reader.next() {
            switch field {
            case 1: address = value.number
            case 2: rssi = value.zigzag
            case 3: addressType = UInt32(truncatingIfNeeded: value.number)
            case 4: data = value.array
            default: break
            }
        }
    }
}

extension ProxySlots {
    fileprivate init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init(free: 0, limit: 0)
        var reader = FieldReader(body)
        while let (field, value) = try reader.next() {
            switch field {
            case 1: free = UInt32(truncatingIfNeeded: value.number)
            case 2: limit = UInt32(truncatingIfNeeded: value.number)
            case 3: try value.append(to: &allocated)
            default: break
            }
        }
    }
}

extension ProxyService {
    fileprivate init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init(uuid: BluetoothUUID(high: 0, low: 0), handle: 0)
        var (reader, halves): (FieldReader, [UInt64]) = (FieldReader(body), [])
        while let (field, value) = try reader.next() {
            switch field {
            case 1: try value.append(to: &halves)
            case 2: handle = UInt32(truncatingIfNeeded: value.number)
            case 3: characteristics.append(try Characteristic(value.bytes))
            case 4: uuid = BluetoothUUID(UInt32(truncatingIfNeeded: value.number))
            default: break
            }
        }
        uuid = BluetoothUUID(halves: halves) ?? uuid
    }
}

extension ProxyService.Characteristic {
    fileprivate init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init(uuid: BluetoothUUID(high: 0, low: 0), handle: 0, properties: 0)
        var (reader, halves): (FieldReader, [UInt64]) = (FieldReader(body), [])
        while let (field, value) = try reader.next() {
            switch field {
            case 1: try value.append(to: &halves)
            case 2: handle = UInt32(truncatingIfNeeded: value.number)
            case 3: properties = UInt32(truncatingIfNeeded: value.number)
            case 4: descriptors.append(try ProxyService.Descriptor(value.bytes))
            case 5: uuid = BluetoothUUID(UInt32(truncatingIfNeeded: value.number))
            default: break
            }
        }
        uuid = BluetoothUUID(halves: halves) ?? uuid
    }
}

extension ProxyService.Descriptor {
    fileprivate init(_ body: ArraySlice<UInt8>) throws(WireError) {
        self.init(uuid: BluetoothUUID(high: 0, low: 0), handle: 0)
        var (reader, halves): (FieldReader, [UInt64]) = (FieldReader(body), [])
        while let (field, value) = try reader.next() {
            switch field {
            case 1: try value.append(to: &halves)
            case 2: handle = UInt32(truncatingIfNeeded: value.number)
            case 3: uuid = BluetoothUUID(UInt32(truncatingIfNeeded: value.number))
            default: break
            }
        }
        uuid = BluetoothUUID(halves: halves) ?? uuid
    }
}

extension BluetoothUUID {
    /// Nil unless there are two halves.
    fileprivate init?(halves: [UInt64]) {
        guard halves.count == 2 else { return nil }
        self.init(high: halves[0], low: halves[1])
    }
}
