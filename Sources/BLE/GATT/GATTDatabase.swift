/// The operations that a characteristic allows (Core Specification 5.4, volume 3, part G, section 3.3.1.1). Bits 8
/// and 9 are the characteristic extended properties (section 3.3.3.1).
///
/// No property tells whether the link must be encrypted or authenticated: a peripheral does not publish that, and only
/// rejects what it does not permit. BlueZ then raises the link's security by itself, which may start pairing. If that
/// is not enough, the operation throws `pairingRequired`.
public struct CharacteristicProperties: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates properties from their bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The value may be broadcast.
    public static let broadcast = CharacteristicProperties(rawValue: 0x01)
    /// The value can be read.
    public static let read = CharacteristicProperties(rawValue: 0x02)
    /// The value can be written without a response.
    public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
    /// The value can be written with a response.
    public static let write = CharacteristicProperties(rawValue: 0x08)
    /// The value can be notified.
    public static let notify = CharacteristicProperties(rawValue: 0x10)
    /// The value can be indicated. The client confirms each indication.
    public static let indicate = CharacteristicProperties(rawValue: 0x20)
    /// The value can be written with a signature. Signed writes are not supported: BlueZ sends an unsigned command on
    /// an encrypted link, and otherwise may send the command without its signature.
    public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
    /// A Characteristic Extended Properties descriptor holds additional properties.
    public static let extendedProperties = CharacteristicProperties(rawValue: 0x80)
    /// The value can be written by the Reliable Writes procedure.
    public static let reliableWrite = CharacteristicProperties(rawValue: 0x100)
    /// The Characteristic User Description descriptor can be written.
    public static let writableAuxiliaries = CharacteristicProperties(rawValue: 0x200)

    /// Each property with its name, in the order of the bits.
    public static let names: [(property: CharacteristicProperties, name: String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"),
        (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        (.authenticatedSignedWrites, "authenticated-signed-writes"), (.extendedProperties, "extended-properties"),
        (.reliableWrite, "reliable-write"), (.writableAuxiliaries, "writable-auxiliaries"),
    ]
}

extension CharacteristicProperties: CustomStringConvertible {
    /// The names of the properties, such as `read, notify`.
    public var description: String {
        let known = Self.names.filter { contains($0.property) }.map(\.name)
        return known.isEmpty ? "none" : known.joined(separator: ", ")
    }
}

/// A discovered descriptor of a characteristic.
public struct GATTDescriptor: GATTAttribute, Hashable, Codable {
    /// The descriptor's type.
    public let uuid: BluetoothUUID
    /// The attribute handle.
    public let handle: UInt16

    /// Creates a descriptor.
    public init(uuid: BluetoothUUID, handle: UInt16) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// A discovered characteristic of a service. Iterating over it yields its descriptors, in order of handles.
public struct GATTCharacteristic: GATTAttribute, AttributeSequence, Hashable, Codable {
    /// The characteristic's type. It may occur more than once in a service.
    public let uuid: BluetoothUUID
    /// The handle of the characteristic's declaration, unique on its peripheral.
    public let handle: UInt16
    /// The operations that the characteristic allows.
    public let properties: CharacteristicProperties
    /// The descriptors, in order of handles.
    public let descriptors: [GATTDescriptor]

    /// Creates a characteristic.
    public init(
        uuid: BluetoothUUID, handle: UInt16, properties: CharacteristicProperties, descriptors: [GATTDescriptor] = []
    ) {
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
        self.descriptors = descriptors
    }

    /// The descriptors.
    public var attributes: [GATTDescriptor] { descriptors }

    /// A key that identifies exactly this characteristic on its peripheral, even if its type occurs more than once.
    public var key: CharacteristicKey { CharacteristicKey(characteristic: uuid, handle: handle) }
}

/// A discovered service of a peripheral. Iterating over it yields its characteristics, in order of handles.
public struct GATTService: GATTAttribute, AttributeSequence, Hashable, Codable {
    /// The service's type. It may occur more than once on a peripheral.
    public let uuid: BluetoothUUID
    /// The handle of the service's declaration, unique on its peripheral.
    public let handle: UInt16
    /// Whether it is a primary service. A secondary service exists only to be included by other services.
    public let isPrimary: Bool
    /// The characteristics, in order of handles.
    public let characteristics: [GATTCharacteristic]
    /// The handles of the services that this one includes, in order; ``GATTDatabase/includedServices(of:)`` returns the
    /// services.
    public let includedHandles: [UInt16]

    /// Creates a service.
    public init(
        uuid: BluetoothUUID, handle: UInt16, isPrimary: Bool = true, characteristics: [GATTCharacteristic],
        includedHandles: [UInt16] = []
    ) {
        self.uuid = uuid
        self.handle = handle
        self.isPrimary = isPrimary
        self.characteristics = characteristics
        self.includedHandles = includedHandles
    }

    /// The characteristics.
    public var attributes: [GATTCharacteristic] { characteristics }
}

/// All services of a peripheral at one point in time, in order of handles.
///
/// ```swift
/// for service in try await peripheral.services() {
///     for characteristic in service where characteristic.properties.contains(.read) {
///         print(characteristic.uuid, try await peripheral.read(characteristic.key.bytes))
///     }
/// }
/// ```
public struct GATTDatabase: AttributeSequence, Hashable, Codable {
    /// The services, in order of handles.
    public let services: [GATTService]

    /// Creates a database.
    public init(services: [GATTService]) {
        self.services = services
    }

    /// The services.
    public var attributes: [GATTService] { services }

    /// Returns the services that a service includes, in order of handles. Services that are missing from the database
    /// are omitted.
    public func includedServices(of service: GATTService) -> [GATTService] {
        service.includedHandles.compactMap { self[handle: $0] }
    }

    /// Returns the characteristic that `key` identifies, with its service.
    ///
    /// Throws `serviceNotFound` or `characteristicNotFound` with the missing UUIDs.
    func find(_ key: CharacteristicKey) throws(BLEError) -> (service: GATTService, characteristic: GATTCharacteristic) {
        let candidates = services.filter {
            (key.service == nil || $0.uuid == key.service)
                && (key.serviceHandle == nil || $0.handle == key.serviceHandle)
        }
        if let wanted = key.service, candidates.isEmpty {
            throw BLEError.absent(service: wanted, characteristic: key.characteristic)
        }
        for service in candidates {
            for characteristic in service.characteristics where characteristic.uuid == key.characteristic {
                if key.handle == nil || key.handle == characteristic.handle { return (service, characteristic) }
            }
        }
        throw BLEError.absent(characteristic: key.characteristic, service: key.service)
    }
}

extension BLEError {
    /// The error for a service that was not discovered.
    static func absent(service: BluetoothUUID, characteristic: BluetoothUUID? = nil) -> BLEError {
        let isHidden = service == BluetoothUUID(0x1800) || service == BluetoothUUID(0x1801)
        return BLEError(
            .serviceNotFound, isHidden ? hidden("service \(service)") : "the peripheral has no service \(service)",
            service: service, characteristic: characteristic, missingUUIDs: [service], isRetryable: false,
            remedy: isHidden ? hiddenRemedy : nil)
    }

    /// The error for a characteristic that was not discovered.
    static func absent(characteristic: BluetoothUUID, service: BluetoothUUID?) -> BLEError {
        // The characteristics of services 1800 and 1801: Assigned Numbers, section 3.8.
        let isHidden =
            [0x2A00, 0x2A01, 0x2A02, 0x2A03, 0x2A04, 0x2AA6, 0x2AC9, 0x2A05, 0x2B29, 0x2B2A, 0x2B3A].contains {
                BluetoothUUID($0) == characteristic
            }
        return BLEError(
            .characteristicNotFound,
            isHidden
                ? hidden("characteristic \(characteristic)") : "the peripheral has no characteristic \(characteristic)",
            service: service, characteristic: characteristic, missingUUIDs: [characteristic], isRetryable: false,
            remedy: isHidden ? hiddenRemedy : nil)
    }

    private static func hidden(_ what: String) -> String {
        "\(what) is hidden: the system does not expose the GAP (1800) and GATT (1801) services"
    }

    private static let hiddenRemedy =
        "Read the name and the appearance from the advertisement. Service changes are handled automatically."
}
