public import BLE

extension BluetoothUUID {
    /// The Device Information service.
    public static let deviceInformation = BluetoothUUID(0x180A)
}

extension Characteristic where Value == String {
    /// The manufacturer's name (Device Information Service 1.1, section 3.1).
    public static var manufacturerName: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A29), service: .deviceInformation)
    }
    /// The model number (section 3.2).
    public static var modelNumber: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A24), service: .deviceInformation)
    }
    /// The serial number (section 3.3).
    public static var serialNumber: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A25), service: .deviceInformation)
    }
    /// The hardware's revision (section 3.4).
    public static var hardwareRevision: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A27), service: .deviceInformation)
    }
    /// The firmware's revision (section 3.5).
    public static var firmwareRevision: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A26), service: .deviceInformation)
    }
    /// The software's revision (section 3.6).
    public static var softwareRevision: Self {
        Characteristic(.utf8, BluetoothUUID(0x2A28), service: .deviceInformation)
    }
}

extension Characteristic where Value == SystemID {
    /// The System ID (section 3.7).
    public static var systemID: Self {
        Characteristic(
            ValueCoding(receiveOnly: SystemID.init(bytes:)), BluetoothUUID(0x2A23), service: .deviceInformation)
    }
}

extension Characteristic where Value == PnPID {
    /// The PnP ID (section 3.9).
    public static var pnpID: Self {
        Characteristic(
            ValueCoding(receiveOnly: PnPID.init(bytes:)), BluetoothUUID(0x2A50), service: .deviceInformation)
    }
}

/// A device's System ID (Device Information Service 1.1, section 3.7): 64 bits, little-endian on the air.
public struct SystemID: Hashable, Sendable {
    /// The low 40 bits, which the manufacturer assigns.
    public var manufacturer: UInt64
    /// The high 24 bits, the manufacturer's Organizationally Unique Identifier.
    public var organization: UInt32

    /// A System ID.
    public init(manufacturer: UInt64, organization: UInt32) {
        self.manufacturer = manufacturer
        self.organization = organization
    }

    /// The System ID that eight bytes spell.
    public init(bytes: [UInt8]) throws(BLEError) {
        var reader = ValueReader(bytes)
        manufacturer = try reader.unsigned(5)
        organization = UInt32(try reader.unsigned(3))
    }
}

/// A device's PnP ID (Device Information Service 1.1, section 3.9).
public struct PnPID: Hashable, Sendable {
    /// Who assigned the vendor: 1 the Bluetooth SIG, 2 the USB Implementer's Forum.
    public var source: UInt8
    /// The vendor.
    public var vendor: UInt16
    /// The vendor's product.
    public var product: UInt16
    /// The product's version, in binary coded decimals: 0x0213 is 2.1.3.
    public var version: UInt16

    /// A PnP ID.
    public init(source: UInt8, vendor: UInt16, product: UInt16, version: UInt16) {
        self.source = source
        self.vendor = vendor
        self.product = product
        self.version = version
    }

    /// The PnP ID that seven bytes spell.
    public init(bytes: [UInt8]) throws(BLEError) {
        var reader = ValueReader(bytes)
        source = try reader.uint8()
        vendor = try reader.uint16()
        product = try reader.uint16()
        version = try reader.uint16()
    }
}

/// What a device says of itself in its Device Information service; each item is optional there.
public struct DeviceInformation: Hashable, Sendable {
    /// 2A29.
    public var manufacturer: String?
    /// 2A24.
    public var model: String?
    /// 2A25.
    public var serialNumber: String?
    /// 2A27.
    public var hardwareRevision: String?
    /// 2A26.
    public var firmwareRevision: String?
    /// 2A28.
    public var softwareRevision: String?
    /// 2A23.
    public var systemID: SystemID?
    /// 2A50.
    public var pnpID: PnPID?

    /// Nothing known.
    public init() {}

    /// Reads what `peripheral` has. Connects and discovers as needed. An item that it does not have stays nil.
    ///
    /// Throws `serviceNotFound` when it has no such service, and whatever reading an item it has throws.
    public init(of peripheral: Peripheral) async throws(BLEError) {
        guard let service = try await peripheral.services()[.deviceInformation] else {
            throw BLEError(
                .serviceNotFound, "the peripheral has no service \(BluetoothUUID.deviceInformation)",
                peripheral: peripheral.id, service: .deviceInformation, undiscovered: [.deviceInformation],
                isRetryable: false)
        }
        func read<Value>(_ key: Characteristic<Value>) async throws(BLEError) -> Value? {
            guard let found = service[key.key.characteristic], found.properties.contains(.read) else { return nil }
            var key = key
            key.key.handle = found.handle
            return try await peripheral.read(key)
        }
        manufacturer = try await read(.manufacturerName)
        model = try await read(.modelNumber)
        serialNumber = try await read(.serialNumber)
        hardwareRevision = try await read(.hardwareRevision)
        firmwareRevision = try await read(.firmwareRevision)
        softwareRevision = try await read(.softwareRevision)
        systemID = try await read(.systemID)
        pnpID = try await read(.pnpID)
    }
}
