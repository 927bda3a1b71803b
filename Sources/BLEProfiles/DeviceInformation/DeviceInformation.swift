public import BLE

extension BluetoothUUID {
    /// The Device Information service.
    public static let deviceInformation = BluetoothUUID(0x180A)
}

extension Characteristic where Value == String {
    /// The manufacturer's name (Device Information Service 1.1, section 3.1).
    public static var manufacturerName: Self { Characteristic(BluetoothUUID(0x2A29), service: .deviceInformation) }
    /// The model number (section 3.2).
    public static var modelNumber: Self { Characteristic(BluetoothUUID(0x2A24), service: .deviceInformation) }
    /// The serial number (section 3.3).
    public static var serialNumber: Self { Characteristic(BluetoothUUID(0x2A25), service: .deviceInformation) }
    /// The hardware's revision (section 3.4).
    public static var hardwareRevision: Self { Characteristic(BluetoothUUID(0x2A27), service: .deviceInformation) }
    /// The firmware's revision (section 3.5).
    public static var firmwareRevision: Self { Characteristic(BluetoothUUID(0x2A26), service: .deviceInformation) }
    /// The software's revision (section 3.6).
    public static var softwareRevision: Self { Characteristic(BluetoothUUID(0x2A28), service: .deviceInformation) }
}

extension Characteristic where Value == SystemID {
    /// The System ID (section 3.7).
    public static var systemID: Self { Characteristic(BluetoothUUID(0x2A23), service: .deviceInformation) }
}

extension Characteristic where Value == [UInt8] {
    /// The regulatory certifications (section 3.8), as the undecoded structure of IEEE 11073-20601.
    public static var regulatoryCertifications: Self {
        Characteristic(BluetoothUUID(0x2A2A), service: .deviceInformation)
    }
}

extension Characteristic where Value == PnPID {
    /// The PnP ID (section 3.9).
    public static var pnpID: Self { Characteristic(BluetoothUUID(0x2A50), service: .deviceInformation) }
}

/// A device's System ID (Device Information Service 1.1, section 3.7): 64 bits, little-endian on the air.
public struct SystemID: Hashable, Codable, ValueCodable {
    /// The low 40 bits, which the manufacturer assigns.
    public var manufacturer: UInt64
    /// The high 24 bits, the manufacturer's Organizationally Unique Identifier.
    public var organization: UInt32

    /// Creates a System ID.
    public init(manufacturer: UInt64, organization: UInt32) {
        self.manufacturer = manufacturer
        self.organization = organization
    }

    /// Eight bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        manufacturer = try reader.unsigned(5)
        organization = try reader.uint24()
    }

    /// Encodes eight bytes. Throws `invalidValue` if a part has more than its 40 or 24 bits.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.integer(Int(clamping: manufacturer), .uint40)
        try writer.integer(Int(organization), .uint24)
    }
}

/// A device's PnP ID (Device Information Service 1.1, section 3.9).
public struct PnPID: Hashable, Codable, ValueCodable {
    /// The authority that assigned the vendor: 1 for the Bluetooth SIG, 2 for the USB Implementers Forum.
    public var source: UInt8
    /// The vendor's number.
    public var vendor: UInt16
    /// The product's number.
    public var product: UInt16
    /// The product's version as binary-coded decimals: 0x0213 is 2.1.3.
    public var version: UInt16

    /// Creates a PnP ID.
    public init(source: UInt8, vendor: UInt16, product: UInt16, version: UInt16) {
        self.source = source
        self.vendor = vendor
        self.product = product
        self.version = version
    }

    /// Seven bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        source = try reader.uint8()
        vendor = try reader.uint16()
        product = try reader.uint16()
        version = try reader.uint16()
    }

    /// Seven bytes.
    public func encode(into writer: inout ValueWriter) {
        writer.uint8(source)
        writer.uint16(vendor)
        writer.uint16(product)
        writer.uint16(version)
    }
}

/// The values of the Device Information service, all of which are optional, read at once.
///
/// To read a single value, use its key: `try await peripheral.read(.firmwareRevision)`.
public struct DeviceInformation: Hashable, Codable, Sendable {
    /// The name of the manufacturer.
    public var manufacturerName: String?
    /// The model number.
    public var modelNumber: String?
    /// The serial number.
    public var serialNumber: String?
    /// The revision of the hardware.
    public var hardwareRevision: String?
    /// The revision of the firmware.
    public var firmwareRevision: String?
    /// The revision of the software that runs on the firmware.
    public var softwareRevision: String?
    /// The System ID, which is unique to the device.
    public var systemID: SystemID?
    /// The regulatory certifications, as the undecoded structure of IEEE 11073-20601.
    public var regulatoryCertifications: [UInt8]?
    /// The vendor, product and version, with numbers assigned by the Bluetooth SIG or the USB Implementers Forum.
    public var pnpID: PnPID?
    /// The unique device identifier of a medical device.
    public var udi: UniqueDeviceIdentifier?

    /// Creates empty information.
    public init() {}

    /// Reads the values that `peripheral` has, connecting and discovering if necessary. Missing values are nil.
    ///
    /// Throws `serviceNotFound` if the service is missing, and the errors of reading a value.
    ///
    /// - Parameter unreadable: called for each value that is refused or malformed; the value is then nil. If this is
    ///   nil, such a value throws.
    public init(
        of peripheral: Peripheral, unreadable: ((BLEError) -> Void)? = nil
    ) async throws(BLEError) {
        let service = PeripheralService(.deviceInformation, on: peripheral)
        func read<Value>(_ characteristic: Characteristic<Value>) async throws(BLEError) -> Value? {
            do throws(BLEError) {
                return try await service.readIfPresent(characteristic)
            } catch {
                let isOfItem = [.invalidValue, .attributeError, .notPermitted, .notSupported, .pairingRequired]
                    .contains(error.code)
                guard let unreadable, isOfItem else { throw error }
                unreadable(error)
                return nil
            }
        }
        manufacturerName = try await read(.manufacturerName)
        modelNumber = try await read(.modelNumber)
        serialNumber = try await read(.serialNumber)
        hardwareRevision = try await read(.hardwareRevision)
        firmwareRevision = try await read(.firmwareRevision)
        softwareRevision = try await read(.softwareRevision)
        systemID = try await read(.systemID)
        regulatoryCertifications = try await read(.regulatoryCertifications)
        pnpID = try await read(.pnpID)
        udi = try await read(.udi)
    }
}
