/// The decoded content of an AD structure (Core Specification Supplement 11, part A, section 1).
///
/// Decoding checks lengths strictly, ignores reserved bits, and keeps structures of other types undecoded, as
/// ``raw(_:)``.
public enum AdvertisingElement: Hashable, Sendable {
    /// Whether and how the device can be discovered (section 1.3).
    case flags(AdvertisingFlags)
    /// Service UUIDs of one width, as a complete or an incomplete list (section 1.1).
    case serviceUUIDs([BluetoothUUID], width: UUIDWidth, isComplete: Bool)
    /// Solicited services: the services that the device looks for on a central (section 1.10).
    case solicitedServiceUUIDs([BluetoothUUID], width: UUIDWidth)
    /// Service data (section 1.11).
    case serviceData(BluetoothUUID, [UInt8], width: UUIDWidth)
    /// The name, complete or shortened (section 1.2).
    case localName(String, isComplete: Bool)
    /// The transmit power in dBm, −127 to 127 (section 1.5).
    case txPower(Int)
    /// The appearance (section 1.12; values in Assigned Numbers, section 2.6).
    case appearance(Appearance)
    /// Manufacturer specific data, without the company identifier's two bytes (section 1.4).
    case manufacturerData(company: UInt16, [UInt8])
    /// The advertising interval, in units of 625 µs. Values over 65535 are sent in the long form (section 1.15).
    case advertisingInterval(units: UInt32)
    /// A structure of another type.
    case raw(AdvertisingStructure)

    /// A complete list of services. Each UUID is sent with the width of the widest one.
    public static func services(_ uuids: [BluetoothUUID]) -> AdvertisingElement {
        .serviceUUIDs(uuids, width: uuids.map(UUIDWidth.init).max() ?? .bits16, isComplete: true)
    }

    /// A complete name.
    public static func localName(_ name: String) -> AdvertisingElement { .localName(name, isComplete: true) }

    /// Service data, with the service's UUID in its shortest form.
    public static func serviceData(_ uuid: BluetoothUUID, _ data: [UInt8]) -> AdvertisingElement {
        .serviceData(uuid, data, width: UUIDWidth(uuid))
    }

    /// Decodes a structure. Throws `invalidLength`, `invalidValue` or `invalidText`.
    public init(_ structure: AdvertisingStructure) throws(AdvertisingDataError) {
        let (type, bytes) = (structure.type, structure.bytes)
        func expect(_ isGood: Bool) throws(AdvertisingDataError) {
            guard isGood else { throw .invalidLength(type: type, count: bytes.count) }
        }
        switch type {
        case ADType.flags:
            // Omitted octets are zero; octets after the first are reserved.
            self = .flags(AdvertisingFlags(rawValue: bytes.first ?? 0))
        case ADType.incompleteUUIDs16, ADType.completeUUIDs16, ADType.incompleteUUIDs32, ADType.completeUUIDs32,
            ADType.incompleteUUIDs128, ADType.completeUUIDs128:
            let width = UUIDWidth.allCases[Int(type - ADType.incompleteUUIDs16) / 2]
            try expect(bytes.count % width.rawValue == 0)
            let isComplete = (type - ADType.incompleteUUIDs16) % 2 == 1
            self = .serviceUUIDs(Self.uuids(bytes, width), width: width, isComplete: isComplete)
        case ADType.solicitedUUIDs16, ADType.solicitedUUIDs32, ADType.solicitedUUIDs128:
            let width: UUIDWidth =
                type == ADType.solicitedUUIDs16 ? .bits16 : type == ADType.solicitedUUIDs32 ? .bits32 : .bits128
            try expect(bytes.count % width.rawValue == 0)
            self = .solicitedServiceUUIDs(Self.uuids(bytes, width), width: width)
        case ADType.serviceData16, ADType.serviceData32, ADType.serviceData128:
            let width: UUIDWidth =
                type == ADType.serviceData16 ? .bits16 : type == ADType.serviceData32 ? .bits32 : .bits128
            try expect(bytes.count >= width.rawValue)
            let uuid = BluetoothUUID(littleEndian: bytes.prefix(width.rawValue))
            self = .serviceData(uuid, Array(bytes.dropFirst(width.rawValue)), width: width)
        case ADType.shortenedName, ADType.completeName:
            guard let name = String(validating: bytes, as: UTF8.self) else { throw .invalidText(type: type) }
            self = .localName(name, isComplete: type == ADType.completeName)
        case ADType.txPower:
            try expect(bytes.count == 1)
            let power = Int8(bitPattern: bytes[0])
            guard power != .min else { throw .invalidValue(type: type) }
            self = .txPower(Int(power))
        case ADType.appearance:
            try expect(bytes.count == 2)
            self = .appearance(Appearance(rawValue: UInt16(truncatingIfNeeded: bytes.littleEndian)))
        case ADType.manufacturerData:
            try expect(bytes.count >= 2)
            self = .manufacturerData(
                company: UInt16(truncatingIfNeeded: bytes.prefix(2).littleEndian), Array(bytes.dropFirst(2)))
        case ADType.advertisingInterval, ADType.longAdvertisingInterval:
            try expect(type == ADType.advertisingInterval ? bytes.count == 2 : (3...4).contains(bytes.count))
            self = .advertisingInterval(units: UInt32(truncatingIfNeeded: bytes.littleEndian))
        default: self = .raw(structure)
        }
    }

    private static func uuids(_ bytes: [UInt8], _ width: UUIDWidth) -> [BluetoothUUID] {
        stride(from: 0, to: bytes.count, by: width.rawValue).map {
            BluetoothUUID(littleEndian: bytes[$0..<$0 + width.rawValue])
        }
    }
}

extension AdvertisingStructure {
    /// Encodes an element as a structure. Throws `uuidTooWide`, `invalidValue` or `structureTooLong`.
    public init(_ element: AdvertisingElement) throws(AdvertisingDataError) {
        switch element {
        case .flags(let flags): self.init(type: ADType.flags, bytes: [flags.rawValue])
        case .serviceUUIDs(let uuids, let width, let isComplete):
            let type = ADType.incompleteUUIDs16 + 2 * width.index + (isComplete ? 1 : 0)
            self.init(type: type, bytes: try Self.bytes(uuids, width))
        case .solicitedServiceUUIDs(let uuids, let width):
            let types = [ADType.solicitedUUIDs16, ADType.solicitedUUIDs32, ADType.solicitedUUIDs128]
            self.init(type: types[Int(width.index)], bytes: try Self.bytes(uuids, width))
        case .serviceData(let uuid, let data, let width):
            let types = [ADType.serviceData16, ADType.serviceData32, ADType.serviceData128]
            self.init(type: types[Int(width.index)], bytes: try Self.bytes([uuid], width) + data)
        case .localName(let name, let isComplete):
            self.init(type: isComplete ? ADType.completeName : ADType.shortenedName, bytes: Array(name.utf8))
        case .txPower(let power):
            guard (-127...127).contains(power) else { throw .invalidValue(type: ADType.txPower) }
            self.init(type: ADType.txPower, bytes: [UInt8(bitPattern: Int8(power))])
        case .appearance(let value): self.init(type: ADType.appearance, bytes: value.rawValue.littleEndianBytes)
        case .manufacturerData(let company, let data):
            self.init(type: ADType.manufacturerData, bytes: company.littleEndianBytes + data)
        case .advertisingInterval(let units):
            let count = units <= 0xFFFF ? 2 : units <= 0xFF_FFFF ? 3 : 4
            self.init(
                type: count == 2 ? ADType.advertisingInterval : ADType.longAdvertisingInterval,
                bytes: Array(units.littleEndianBytes.prefix(count)))
        case .raw(let structure): self = structure
        }
        guard bytes.count <= Self.maximumCount else { throw .structureTooLong(type: type, count: bytes.count) }
    }

    private static func bytes(_ uuids: [BluetoothUUID], _ width: UUIDWidth) throws(AdvertisingDataError) -> [UInt8] {
        var bytes: [UInt8] = []
        for uuid in uuids {
            guard UUIDWidth(uuid) <= width else { throw .uuidTooWide(uuid) }
            bytes += uuid.littleEndianBytes(width)
        }
        return bytes
    }
}
