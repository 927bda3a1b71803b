/// What a characteristic allows (Core Specification 5.4, volume 3, part G, section 3.3.1.1; the two high bits are the
/// extended properties of section 3.3.3.1).
public struct CharacteristicProperties: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Any bits.
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
    /// The value can be indicated, that is notified with a confirmation.
    public static let indicate = CharacteristicProperties(rawValue: 0x20)
    /// The value can be written with a signature.
    public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
    /// There is a descriptor with further properties.
    public static let extendedProperties = CharacteristicProperties(rawValue: 0x80)
    /// The value can be written reliably.
    public static let reliableWrite = CharacteristicProperties(rawValue: 0x100)
    /// The user description can be written.
    public static let writableAuxiliaries = CharacteristicProperties(rawValue: 0x200)

    /// Each single property with BlueZ's name for it, in the order of the bits.
    public static let names: [(property: CharacteristicProperties, name: String)] = [
        (.broadcast, "broadcast"), (.read, "read"), (.writeWithoutResponse, "write-without-response"),
        (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        (.authenticatedSignedWrites, "authenticated-signed-writes"), (.extendedProperties, "extended-properties"),
        (.reliableWrite, "reliable-write"), (.writableAuxiliaries, "writable-auxiliaries"),
    ]
}

/// A descriptor of a characteristic, as it was discovered.
public struct GATTDescriptor: Hashable, Sendable {
    /// The descriptor's type.
    public let uuid: BluetoothUUID
    /// The attribute handle.
    public let handle: UInt16

    /// A descriptor.
    public init(uuid: BluetoothUUID, handle: UInt16) {
        self.uuid = uuid
        self.handle = handle
    }
}

/// A characteristic of a service, as it was discovered.
public struct GATTCharacteristic: Hashable, Sendable {
    /// The characteristic's type. It may occur more than once in a service.
    public let uuid: BluetoothUUID
    /// The handle of the characteristic's declaration, unique on its peripheral.
    public let handle: UInt16
    /// What the characteristic allows.
    public let properties: CharacteristicProperties
    /// In order of handles.
    public let descriptors: [GATTDescriptor]

    /// A characteristic.
    public init(
        uuid: BluetoothUUID, handle: UInt16, properties: CharacteristicProperties, descriptors: [GATTDescriptor] = []
    ) {
        self.uuid = uuid
        self.handle = handle
        self.properties = properties
        self.descriptors = descriptors
    }
}

/// A service of a peripheral, as it was discovered.
public struct GATTService: Hashable, Sendable {
    /// The service's type. It may occur more than once on a peripheral.
    public let uuid: BluetoothUUID
    /// The handle of the service's declaration, unique on its peripheral.
    public let handle: UInt16
    /// False for a service that is only there to be included by others.
    public let isPrimary: Bool
    /// In order of handles.
    public let characteristics: [GATTCharacteristic]

    /// A service.
    public init(uuid: BluetoothUUID, handle: UInt16, isPrimary: Bool = true, characteristics: [GATTCharacteristic]) {
        self.uuid = uuid
        self.handle = handle
        self.isPrimary = isPrimary
        self.characteristics = characteristics
    }

    /// The first characteristic of that type.
    public subscript(uuid: BluetoothUUID) -> GATTCharacteristic? {
        characteristics.first { $0.uuid == uuid }
    }
}

/// All services of a peripheral at one moment, in order of handles.
public struct GATTDatabase: Hashable, Sendable {
    /// In order of handles.
    public let services: [GATTService]

    /// A database.
    public init(services: [GATTService]) {
        self.services = services
    }

    /// The first service of that type.
    public subscript(uuid: BluetoothUUID) -> GATTService? {
        services.first { $0.uuid == uuid }
    }

    /// The characteristic that `key` names, with its service.
    ///
    /// Throws `serviceNotFound` or `characteristicNotFound` with the undiscovered UUIDs.
    func find(_ key: AttributeKey) throws(BLEError) -> (service: GATTService, characteristic: GATTCharacteristic) {
        let candidates = services.filter { key.service == nil || $0.uuid == key.service }
        if let wanted = key.service, candidates.isEmpty {
            throw BLEError(
                .serviceNotFound, "the peripheral has no service \(wanted)", service: wanted,
                characteristic: key.characteristic, undiscovered: [wanted], isRetryable: false)
        }
        for service in candidates {
            for characteristic in service.characteristics where characteristic.uuid == key.characteristic {
                if key.handle == nil || key.handle == characteristic.handle { return (service, characteristic) }
            }
        }
        throw BLEError(
            .characteristicNotFound, "the peripheral has no characteristic \(key.characteristic)", service: key.service,
            characteristic: key.characteristic, undiscovered: [key.characteristic], isRetryable: false)
    }
}

extension GATTDatabase: RandomAccessCollection {
    /// The index of the first service.
    public var startIndex: Int { services.startIndex }
    /// One past the index of the last service.
    public var endIndex: Int { services.endIndex }
    /// The service at a valid index.
    public subscript(position: Int) -> GATTService { services[position] }
}
