/// The data of one advertising or scan response packet: AD structures, each with a length, a type and its bytes (Core
/// Specification 5.4, volume 3, part C, section 11).
///
/// ```swift
/// let data = try AdvertisingData([
///     .flags([.generalDiscoverable, .classicNotSupported]), .services([.heartRate]), .localName("Strap"),
/// ])
/// let packet = try data.encode()
/// ```
public struct AdvertisingData: Hashable, Sendable {
    /// The maximum number of bytes in a packet.
    public enum Limit: Int, Hashable, Sendable {
        /// 31 bytes, the capacity of a legacy packet (Core Specification 5.4, volume 6, part B, section 2.3.1).
        case legacy = 31
        /// 254 bytes, the capacity of one extended packet (volume 6, part B, section 2.3.4.9).
        case extended = 254
        /// 1650 bytes, the capacity of a chain of extended packets (volume 4, part E, section 7.8.54).
        case chained = 1650
    }

    /// The structures in the order of the packet, including those of unknown types.
    public var structures: [AdvertisingStructure]

    /// Creates advertising data from structures.
    public init(structures: [AdvertisingStructure] = []) {
        self.structures = structures
    }

    /// Creates advertising data from elements, in the given order. Throws the errors of
    /// ``AdvertisingStructure/init(_:)``.
    public init(_ elements: [AdvertisingElement]) throws(AdvertisingDataError) {
        structures = []
        for element in elements { structures.append(try AdvertisingStructure(element)) }
    }

    /// Splits a packet into its structures, without decoding their contents.
    ///
    /// A length of zero ends the packet early; the bytes after it are ignored. Throws `truncated` if a structure is
    /// longer than the rest of the packet.
    public init(decoding packet: Span<UInt8>) throws(AdvertisingDataError) {
        structures = []
        var position = 0
        while position < packet.count, packet[position] > 0 {
            let end = position + 1 + Int(packet[position])
            guard end <= packet.count else {
                throw .truncated(needed: Int(packet[position]), available: packet.count - position - 1)
            }
            let bytes = packet.extracting(position + 2..<end).withUnsafeBufferPointer { Array($0) }
            structures.append(AdvertisingStructure(type: packet[position + 1], bytes: bytes))
            position = end
        }
    }

    /// The length of the packet, in bytes.
    public var encodedCount: Int { structures.reduce(0) { $0 + 2 + $1.bytes.count } }

    /// Encodes the packet, without padding. Throws `structureTooLong`, or `tooLong` if the packet has more bytes than
    /// `limit` allows.
    public func encode(limit: Limit = .legacy) throws(AdvertisingDataError) -> [UInt8] {
        for structure in structures where structure.bytes.count > AdvertisingStructure.maximumCount {
            throw .structureTooLong(type: structure.type, count: structure.bytes.count)
        }
        guard encodedCount <= limit.rawValue else { throw .tooLong(count: encodedCount, maximum: limit.rawValue) }
        return structures.flatMap { [UInt8($0.bytes.count + 1), $0.type] + $0.bytes }
    }

    /// Decodes the structures, in order. Throws the error of ``AdvertisingElement/init(_:)`` for the first malformed
    /// structure.
    public func elements() throws(AdvertisingDataError) -> [AdvertisingElement] {
        var elements: [AdvertisingElement] = []
        for structure in structures { elements.append(try AdvertisingElement(structure)) }
        return elements
    }
}

/// One AD structure of a packet, without its length byte.
public struct AdvertisingStructure: Hashable, Sendable {
    /// The maximum number of bytes after the type. The length byte counts the type, too.
    public static let maximumCount = 254

    /// The AD type (Assigned Numbers, section 2.3).
    public var type: UInt8
    /// The bytes after the type.
    public var bytes: [UInt8]

    /// Creates a structure.
    public init(type: UInt8, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }
}

/// An error in decoding or encoding advertising data.
public enum AdvertisingDataError: Error, Hashable, Sendable {
    /// A structure claims `needed` bytes, but the packet has only `available` left.
    case truncated(needed: Int, available: Int)
    /// A structure of this type cannot have `count` bytes.
    case invalidLength(type: UInt8, count: Int)
    /// The value of a structure of this type is out of range.
    case invalidValue(type: UInt8)
    /// The name is not UTF-8.
    case invalidText(type: UInt8)
    /// The UUID does not fit the requested width.
    case uuidTooWide(BluetoothUUID)
    /// A structure has more bytes than its length byte can express.
    case structureTooLong(type: UInt8, count: Int)
    /// The packet has more than `maximum` bytes.
    case tooLong(count: Int, maximum: Int)
}

extension AdvertisingDataError: CustomStringConvertible {
    /// The error and a suggested remedy, on one line.
    public var description: String {
        switch self {
        case .truncated(let needed, let available):
            "an AD structure of \(needed) bytes has only \(available) bytes left — the packet is truncated"
        case .invalidLength(let type, let count):
            "an AD structure of type 0x\(Hex.string([type])) cannot have \(count) bytes — use the bytes undecoded"
        case .invalidValue(let type):
            "the AD structure of type 0x\(Hex.string([type])) holds a value out of range — use a value in range"
        case .invalidText(let type):
            "the AD structure of type 0x\(Hex.string([type])) is not UTF-8 — use the bytes undecoded"
        case .uuidTooWide(let uuid): "the UUID \(uuid) does not fit the requested width — use the 128-bit width"
        case .structureTooLong(let type, let count):
            "\(count) bytes do not fit the AD structure of type 0x\(Hex.string([type])) — send at most 254"
        case .tooLong(let count, let maximum):
            "\(count) bytes of advertising data do not fit into \(maximum) — remove elements, or move them to the "
                + "scan response"
        }
    }
}
