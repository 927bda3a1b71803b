internal import BLE

/// Reads the little-endian fields of a packet, in order. Each read returns nil if too few bytes are left.
struct PacketReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var remaining: Int { bytes.endIndex - position }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= remaining else { return nil }
        defer { position += count }
        return bytes[position..<position + count]
    }

    mutating func rest() -> ArraySlice<UInt8> {
        defer { position = bytes.endIndex }
        return bytes[position...]
    }

    mutating func uint8() -> UInt8? { bytes(1)?.first }

    mutating func int8() -> Int? { uint8().map { Int(Int8(bitPattern: $0)) } }

    mutating func uint16() -> UInt16? {
        bytes(2).map { field in field.reversed().reduce(0) { $0 << 8 | UInt16($1) } }
    }

    /// Reads a UUID of 2 or 16 bytes.
    mutating func uuid(_ count: Int) -> BluetoothUUID? {
        guard count == 2 || count == 16, let field = bytes(count) else { return nil }
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        guard count == 16 else { return BluetoothUUID(UInt32(truncatingIfNeeded: number(field))) }
        return BluetoothUUID(high: number(field.suffix(8)), low: number(field.prefix(8)))
    }

    /// Reads a device address.
    mutating func address() -> DeviceID? {
        bytes(6).map { field in DeviceID(address: field.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
    }
}

extension [UInt8] {
    /// Adds a little-endian number of 16 bits.
    mutating func append16(_ number: some BinaryInteger) {
        append(UInt8(truncatingIfNeeded: number))
        append(UInt8(truncatingIfNeeded: number >> 8))
    }

    /// Adds a UUID of 2 bytes, or of 16 if it has no short form.
    mutating func append(_ uuid: BluetoothUUID) {
        if let short = uuid.short { append16(short) } else { append(contentsOf: uuid.bigEndianBytes.reversed()) }
    }
}

extension BluetoothUUID {
    static let primaryService = BluetoothUUID(0x2800)
    static let secondaryService = BluetoothUUID(0x2801)
    static let include = BluetoothUUID(0x2802)
    static let characteristic = BluetoothUUID(0x2803)
    static let extendedProperties = BluetoothUUID(0x2900)
    static let clientConfiguration = BluetoothUUID(0x2902)
    static let serviceChanged = BluetoothUUID(0x2A05)
    static let databaseHash = BluetoothUUID(0x2B2A)
    static let attributeProfile = BluetoothUUID(0x1801)

    /// Whether it is one of the services that the system keeps for itself: GAP and GATT.
    var isHidden: Bool { self == BluetoothUUID(0x1800) || self == .attributeProfile }
}

/// The opcodes of the Attribute Protocol (Core Specification 5.4, volume 3, part F, section 3.4.8).
enum ATTOpcode {
    static let errorResponse: UInt8 = 0x01
    static let mtuRequest: UInt8 = 0x02
    static let mtuResponse: UInt8 = 0x03
    static let findInformation: UInt8 = 0x04
    static let findByTypeValue: UInt8 = 0x06
    static let readByType: UInt8 = 0x08
    static let read: UInt8 = 0x0A
    static let readBlob: UInt8 = 0x0C
    static let readMultiple: UInt8 = 0x0E
    static let readByGroupType: UInt8 = 0x10
    static let write: UInt8 = 0x12
    static let prepareWrite: UInt8 = 0x16
    static let executeWrite: UInt8 = 0x18
    static let notification: UInt8 = 0x1B
    static let indication: UInt8 = 0x1D
    static let confirmation: UInt8 = 0x1E
    static let readMultipleVariable: UInt8 = 0x20
    static let multipleNotification: UInt8 = 0x23
    static let writeCommand: UInt8 = 0x52
    static let signedWriteCommand: UInt8 = 0xD2

    /// The length of a link's PDUs until the two sides have agreed on another, in bytes.
    static let defaultMTU = 23

    /// The opcode of the response to a request.
    static func response(to request: UInt8) -> UInt8 { request + 1 }
}

/// The opcodes of HCI commands, and the codes of events (Core Specification 5.4, volume 4, part E, section 7).
enum HCI {
    static let disconnect: UInt16 = 0x0406
    static let reset: UInt16 = 0x0C03
    static let readRSSI: UInt16 = 0x1405
    static let setScanEnable: UInt16 = 0x200C
    static let createConnection: UInt16 = 0x200D
    static let cancelConnection: UInt16 = 0x200E
    static let enableEncryption: UInt16 = 0x2019
    static let extendedCreateConnection: UInt16 = 0x2043
    static let extendedCreateConnection2: UInt16 = 0x2085

    static let disconnectionComplete: UInt8 = 0x05
    static let encryptionChange: UInt8 = 0x08
    static let commandComplete: UInt8 = 0x0E
    static let commandStatus: UInt8 = 0x0F
    static let encryptionKeyRefresh: UInt8 = 0x30
    static let leMeta: UInt8 = 0x3E
    static let encryptionChange2: UInt8 = 0x59

    static let connectionComplete: UInt8 = 0x01
    static let advertisingReport: UInt8 = 0x02
    static let enhancedConnectionComplete: UInt8 = 0x0A
    static let extendedAdvertisingReport: UInt8 = 0x0D
    static let enhancedConnectionComplete2: UInt8 = 0x29

    /// The L2CAP channel of the Attribute Protocol on LE links.
    static let attributeChannel: UInt16 = 4
    /// That of the Security Manager.
    static let securityChannel: UInt16 = 6
}
