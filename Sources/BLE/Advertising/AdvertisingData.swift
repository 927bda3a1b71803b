/// The data of one advertising or scan response packet: AD structures, each a length, a type and its bytes (Core Specification
/// 5.4, volume 3, part C, section 11).
///
/// ```swift
/// let data = try AdvertisingData([
///     .flags([.generalDiscoverable, .classicNotSupported]), .services([.heartRate]), .localName("Strap"),
/// ])
/// let packet = try data.encode()
/// ```
public struct AdvertisingData: Hashable, Sendable {
    /// How many bytes a packet may have.
    public enum Limit: Int, Hashable, Sendable {
        /// 31 bytes, what a legacy packet holds (Core Specification 5.4, volume 6, part B, section 2.3.1).
        case legacy = 31
        /// 254 bytes, what one extended packet holds (volume 6, part B, section 2.3.4.9).
        case extended = 254
        /// 1650 bytes, what a chain of extended packets holds (volume 4, part E, section 7.8.54).
        case chained = 1650
    }

    /// The structures, in the order of the packet, of unknown types too.
    public var structures: [AdvertisingStructure]

    /// Data of these structures.
    public init(structures: [AdvertisingStructure] = []) {
        self.structures = structures
    }

    /// Data that says this, in this order. Throws what ``AdvertisingStructure/init(_:)`` throws.
    public init(_ elements: [AdvertisingElement]) throws(AdvertisingDataError) {
        structures = []
        for element in elements { structures.append(try AdvertisingStructure(element)) }
    }

    /// The structures of `packet`. A length of zero ends them early; what follows it is not looked at. What is inside a structure
    /// is not looked at either. Throws `truncated` when a structure is longer than what is left.
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

    /// How many bytes the packet has.
    public var encodedCount: Int { structures.reduce(0) { $0 + 2 + $1.bytes.count } }

    /// The packet, without padding. Throws `structureTooLong`, or `tooLong` when it has more bytes than `limit` allows.
    public func encode(limit: Limit = .legacy) throws(AdvertisingDataError) -> [UInt8] {
        for structure in structures where structure.bytes.count > AdvertisingStructure.maximumCount {
            throw .structureTooLong(type: structure.type, count: structure.bytes.count)
        }
        guard encodedCount <= limit.rawValue else { throw .tooLong(count: encodedCount, maximum: limit.rawValue) }
        return structures.flatMap { [UInt8($0.bytes.count + 1), $0.type] + $0.bytes }
    }

    /// What the structures say, in their order. Throws what ``AdvertisingElement/init(_:)`` throws, for the first of them.
    public func elements() throws(AdvertisingDataError) -> [AdvertisingElement] {
        var elements: [AdvertisingElement] = []
        for structure in structures { elements.append(try AdvertisingElement(structure)) }
        return elements
    }
}

/// One AD structure as it is in a packet, without its length.
public struct AdvertisingStructure: Hashable, Sendable {
    /// The most bytes after the type; the length byte counts the type too.
    public static let maximumCount = 254

    /// The AD type (Assigned Numbers, section 2.3).
    public var type: UInt8
    /// What follows the type.
    public var bytes: [UInt8]

    /// A structure.
    public init(type: UInt8, bytes: [UInt8]) {
        self.type = type
        self.bytes = bytes
    }
}

/// Why advertising data was not taken or cannot be sent.
public enum AdvertisingDataError: Error, Hashable, Sendable {
    /// A structure claims `needed` bytes, of which the packet has only `available`.
    case truncated(needed: Int, available: Int)
    /// A structure of that type does not have so many bytes.
    case invalidLength(type: UInt8, count: Int)
    /// A structure of that type holds a value that there is not.
    case invalidValue(type: UInt8)
    /// The name is not UTF-8.
    case invalidText(type: UInt8)
    /// The UUID does not fit the width that it is to be sent with.
    case uuidTooWide(BluetoothUUID)
    /// A structure has more bytes than its length byte can tell.
    case structureTooLong(type: UInt8, count: Int)
    /// The packet has more bytes than it may.
    case tooLong(count: Int, maximum: Int)
}

extension AdvertisingDataError: CustomStringConvertible {
    /// One line: what is wrong, and what helps.
    public var description: String {
        switch self {
        case .truncated(let needed, let available):
            "an AD structure of \(needed) bytes has only \(available) left — the packet was cut"
        case .invalidLength(let type, let count):
            "an AD structure of type 0x\(Hex.string([type])) cannot have \(count) bytes — take its bytes as they are"
        case .invalidValue(let type):
            "the AD structure of type 0x\(Hex.string([type])) holds a value that there is not — give one in range"
        case .invalidText(let type):
            "the AD structure of type 0x\(Hex.string([type])) is not UTF-8 — take its bytes as they are"
        case .uuidTooWide(let uuid): "the UUID \(uuid) does not fit the width — send it in its 128-bit form"
        case .structureTooLong(let type, let count):
            "\(count) bytes do not fit the AD structure of type 0x\(Hex.string([type])) — send at most 254"
        case .tooLong(let count, let maximum):
            "\(count) bytes of advertising data do not fit into \(maximum) — leave something out, or put it into the scan response"
        }
    }
}
