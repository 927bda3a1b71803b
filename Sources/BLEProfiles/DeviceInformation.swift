public import BLE

extension BluetoothUUID {
    /// The Device Information service.
    public static let deviceInformation = BluetoothUUID(0x180A)
}

/// A device's System ID (Device Information Service 1.1, section 3.6): 64 bits, little-endian on the air.
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
        func read<Value>(_ coding: ValueCoding<Value>, _ uuid: UInt32) async throws(BLEError) -> Value? {
            let uuid = BluetoothUUID(uuid)
            guard let found = service[uuid], found.properties.contains(.read) else { return nil }
            return try await peripheral.read(
                Characteristic(coding, uuid, service: .deviceInformation, handle: found.handle))
        }
        manufacturer = try await read(.utf8, 0x2A29)
        model = try await read(.utf8, 0x2A24)
        serialNumber = try await read(.utf8, 0x2A25)
        hardwareRevision = try await read(.utf8, 0x2A27)
        firmwareRevision = try await read(.utf8, 0x2A26)
        softwareRevision = try await read(.utf8, 0x2A28)
        systemID = try await read(ValueCoding(receiveOnly: SystemID.init(bytes:)), 0x2A23)
        pnpID = try await read(ValueCoding(receiveOnly: PnPID.init(bytes:)), 0x2A50)
    }
}
