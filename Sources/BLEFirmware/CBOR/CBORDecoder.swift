/// An error in decoding CBOR.
public enum CBORError: Error, Hashable, Sendable {
    /// The bytes end within an item.
    case truncated
    /// The item at the offset has an invalid head.
    case invalidHead(UInt8, offset: Int)
    /// Items are nested more deeply than ``CBOR/maximumDepth``.
    case tooDeep
    /// Bytes follow the item.
    case trailingBytes(count: Int)
}

extension CBORError: CustomStringConvertible {
    /// A description of the problem.
    public var description: String {
        switch self {
        case .truncated: "the bytes end within an item"
        case .invalidHead(let byte, let offset): "the byte \(byte) at offset \(offset) does not begin an item"
        case .tooDeep: "items are nested more than \(CBOR.maximumDepth) levels deep"
        case .trailingBytes(let count): "\(count) bytes follow the item"
        }
    }
}

extension CBOR {
    /// The maximum number of levels of arrays, maps and tags within each other.
    public static let maximumDepth = 16

    /// Decodes one item, which may have indefinite lengths.
    ///
    /// The time and the memory are proportional to the number of bytes, whatever lengths they declare.
    public init(decoding bytes: [UInt8]) throws(CBORError) {
        var decoder = CBORDecoder(bytes)
        self = try decoder.item(depth: 0)
        guard decoder.remaining == 0 else { throw .trailingBytes(count: decoder.remaining) }
    }
}

/// Reads items from bytes.
private struct CBORDecoder {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var remaining: Int { bytes.count - position }

    /// An item's major type and its argument. Nil for an indefinite length.
    private struct Head {
        let major: UInt8
        let detail: UInt8
        let argument: UInt64?
    }

    private mutating func byte() throws(CBORError) -> UInt8 {
        guard position < bytes.count else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func head() throws(CBORError) -> Head {
        let offset = position
        let first = try byte()
        let (major, detail) = (first >> 5, first & 0x1F)
        switch detail {
        case ..<24: return Head(major: major, detail: detail, argument: UInt64(detail))
        case 24...27:
            var value: UInt64 = 0
            for _ in 0..<(1 << (detail - 24)) { value = value << 8 | UInt64(try byte()) }
            return Head(major: major, detail: detail, argument: value)
        case 31 where (2...5).contains(major) || major == 7:
            return Head(major: major, detail: detail, argument: nil)
        default: throw .invalidHead(first, offset: offset)
        }
    }

    private var isAtBreak: Bool { position < bytes.count && bytes[position] == 0xFF }

    /// Decodes an item at a level, 0 for the outermost.
    mutating func item(depth: Int) throws(CBORError) -> CBOR {
        guard depth <= CBOR.maximumDepth else { throw .tooDeep }
        let offset = position
        let head = try head()
        switch head.major {
        case 0: return .unsigned(head.argument ?? 0)
        case 1: return .negative(head.argument ?? 0)
        case 2: return .bytes(try string(head))
        case 3: return .text(String(decoding: try string(head), as: UTF8.self))
        case 4:
            var items: [CBOR] = []
            var left = head.argument
            while try goesOn(&left) { items.append(try item(depth: depth + 1)) }
            return .array(items)
        case 5:
            var pairs: [(CBOR, CBOR)] = []
            var left = head.argument
            while try goesOn(&left) {
                let key = try item(depth: depth + 1)
                pairs.append((key, try item(depth: depth + 1)))
            }
            return .map(CBORMap(pairs))
        case 6: return try item(depth: depth + 1)
        default: return try simple(head, offset)
        }
    }

    /// Whether a further element follows. Counts it, or takes the break of an indefinite length.
    private mutating func goesOn(_ left: inout UInt64?) throws(CBORError) -> Bool {
        if let count = left {
            guard count > 0 else { return false }
            // Each element has at least one byte.
            guard count <= UInt64(remaining) else { throw .truncated }
            left = count - 1
            return true
        }
        guard remaining > 0 else { throw .truncated }
        guard isAtBreak else { return true }
        position += 1
        return false
    }

    private mutating func string(_ head: Head) throws(CBORError) -> [UInt8] {
        if let count = head.argument { return try take(count) }
        var string: [UInt8] = []
        while !isAtBreak {
            let offset = position
            let part = try self.head()
            guard part.major == head.major, let count = part.argument else {
                throw .invalidHead(bytes[offset], offset: offset)
            }
            string += try take(count)
        }
        position += 1
        return string
    }

    private mutating func take(_ count: UInt64) throws(CBORError) -> [UInt8] {
        guard count <= UInt64(remaining) else { throw .truncated }
        defer { position += Int(count) }
        return Array(bytes[position..<position + Int(count)])
    }

    private func simple(_ head: Head, _ offset: Int) throws(CBORError) -> CBOR {
        guard let argument = head.argument else { throw .invalidHead(bytes[offset], offset: offset) }
        switch head.detail {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        case 23: return .undefined
        case 25: return .float(Self.half(UInt16(argument)))
        case 26: return .float(Double(Float(bitPattern: UInt32(argument))))
        case 27: return .float(Double(bitPattern: argument))
        case 24:
            // The others have a head of one byte.
            guard argument >= 32 else { throw .invalidHead(bytes[offset], offset: offset) }
            return .simple(UInt8(argument))
        default: return .simple(head.detail)
        }
    }

    /// Decodes a number of 16 bits (IEEE 754 binary16).
    private static func half(_ bits: UInt16) -> Double {
        let (exponent, fraction) = (Int(bits >> 10 & 0x1F), Double(bits & 0x3FF))
        let magnitude: Double =
            switch exponent {
            case 0: Double(sign: .plus, exponent: -24, significand: 1) * fraction
            case 31: fraction == 0 ? .infinity : .nan
            default: Double(sign: .plus, exponent: exponent - 25, significand: 1) * (1024 + fraction)
            }
        return bits >> 15 == 1 ? -magnitude : magnitude
    }
}
