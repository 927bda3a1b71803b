/// A Bluetooth UUID of 16, 32 or 128 bits, kept in its 128-bit form.
///
/// Two UUIDs are equal when their 128-bit forms are: `180F` equals `0000180F-0000-1000-8000-00805F9B34FB`
/// (Core Specification 5.4, volume 3, part B, section 2.5.1).
public struct BluetoothUUID: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

    /// Creates a UUID from a 16-bit or 32-bit form assigned by the Bluetooth SIG.
    public init(_ short: UInt32) {
        high = UInt64(short) << 32 | Self.baseHigh
        low = Self.baseLow
    }

    /// Creates a UUID from the two halves of its 128-bit form, the most significant first, as in text.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses a UUID of 4, 8 or 32 hexadecimal digits, in upper or lower case.
    ///
    /// 32 digits may have dashes at the usual positions. Any form may have a leading `0x`. Nil for any other text.
    public init?(_ text: String) {
        var digits = Substring(text)
        if digits.hasPrefix("0x") || digits.hasPrefix("0X") { digits = digits.dropFirst(2) }
        let groups = digits.split(separator: "-", omittingEmptySubsequences: false)
        guard groups.count == 1 || groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
        let joined = groups.joined()
        // `UInt64(_:radix:)` also takes a sign.
        guard joined.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return nil }
        switch joined.utf8.count {
        case 4, 8:
            guard let short = UInt32(joined, radix: 16) else { return nil }
            self.init(short)
        case 32:
            guard let high = UInt64(joined.prefix(16), radix: 16), let low = UInt64(joined.suffix(16), radix: 16) else {
                return nil
            }
            self.init(high: high, low: low)
        default:
            return nil
        }
    }

    /// The 16-bit form. Nil if there is none.
    public var short: UInt16? {
        guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh else { return nil }
        return UInt16(exactly: high >> 32)
    }

    /// The 32-bit form. Nil if there is none.
    var short32: UInt32? {
        guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh else { return nil }
        return UInt32(high >> 32)
    }

    /// The 128-bit form, lowercase with dashes, as BlueZ writes it.
    public var fullDescription: String {
        let digits = Self.hex(high) + Self.hex(low)
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            String(decoding: digits[range], as: UTF8.self)
        }
        return groups.joined(separator: "-")
    }

    private static func hex(_ value: UInt64) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return (0..<16).map { digits[Int(value >> (60 - 4 * UInt64($0)) & 0xF)] }
    }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The shortest form: four lowercase digits for a 16-bit UUID, otherwise ``fullDescription``.
    public var description: String {
        short.map { Hex.string([UInt8($0 >> 8), UInt8($0 & 0xFF)]) } ?? fullDescription
    }
}

extension BluetoothUUID: Comparable {
    /// Numeric order of the 128-bit forms.
    public static func < (left: BluetoothUUID, right: BluetoothUUID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
