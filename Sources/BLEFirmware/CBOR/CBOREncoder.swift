extension CBOR {
    /// Encodes the item with the shortest lengths and, in maps, the shortest keys first and keys of equal length in
    /// bytewise order (RFC 8949, section 4.2.3).
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.head(0, value, &bytes)
        case .negative(let value): Self.head(1, value, &bytes)
        case .bytes(let value):
            Self.head(2, UInt64(value.count), &bytes)
            bytes += value
        case .text(let value):
            Self.head(3, UInt64(value.utf8.count), &bytes)
            bytes += value.utf8
        case .array(let items):
            Self.head(4, UInt64(items.count), &bytes)
            for item in items { item.append(to: &bytes) }
        case .map(let map):
            Self.head(5, UInt64(map.pairs.count), &bytes)
            let pairs = map.pairs.map { (key: $0.key.encoded(), value: $0.value) }
            for (key, value) in pairs.sorted(by: { Self.precedes($0.key, $1.key) }) {
                bytes += key
                value.append(to: &bytes)
            }
        case .bool(let value): bytes.append(value ? 0xF5 : 0xF4)
        case .null: bytes.append(0xF6)
        case .undefined: bytes.append(0xF7)
        case .simple(let value): Self.head(7, UInt64(value), &bytes)
        case .float(let value):
            bytes.append(0xFB)
            Self.bigEndian(value.bitPattern, 8, &bytes)
        }
    }

    private static func precedes(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count ? one.lexicographicallyPrecedes(other) : one.count < other.count
    }

    /// The number of bytes of an item's head with a length or an integer.
    static func headCount(_ value: Int) -> Int {
        switch value {
        case ..<24: 1
        case ...0xFF: 2
        case ...0xFFFF: 3
        case ...0xFFFF_FFFF: 5
        default: 9
        }
    }

    private static func head(_ major: UInt8, _ value: UInt64, _ bytes: inout [UInt8]) {
        switch value {
        case ..<24: bytes.append(major << 5 | UInt8(value))
        case ...0xFF:
            bytes.append(major << 5 | 24)
            bigEndian(value, 1, &bytes)
        case ...0xFFFF:
            bytes.append(major << 5 | 25)
            bigEndian(value, 2, &bytes)
        case ...0xFFFF_FFFF:
            bytes.append(major << 5 | 26)
            bigEndian(value, 4, &bytes)
        default:
            bytes.append(major << 5 | 27)
            bigEndian(value, 8, &bytes)
        }
    }

    private static func bigEndian(_ value: UInt64, _ count: Int, _ bytes: inout [UInt8]) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
}
