/// A Bluetooth UUID of 16, 32 or 128 bits, kept in its 128-bit form.
///
/// Two UUIDs are equal if their 128-bit forms are equal: `180F` equals `0000180F-0000-1000-8000-00805F9B34FB` (Core
/// Specification 5.4, volume 3, part B, section 2.5.1).
public struct BluetoothUUID: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

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
        var text = text
        guard let uuid = text.withUTF8({ BluetoothUUID(utf8: UnsafeRawBufferPointer($0)) }) else { return nil }
        self = uuid
    }

    /// Parses the same forms in UTF-8.
    package init?(utf8 text: UnsafeRawBufferPointer) {
        var (high, low, count): (UInt64, UInt64, Int) = (0, 0, 0)
        let hasPrefix = text.count > 1 && text[0] == UInt8(ascii: "0") && text[1] | 0x20 == UInt8(ascii: "x")
        let start = hasPrefix ? 2 : 0
        let hasDashes = text.count - start == 36
        for index in start..<text.count {
            let character = text[index]
            if hasDashes, Self.isDash(index - start) {
                guard character == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Self.digit(character), count < 32 else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | digit
            count += 1
        }
        switch count {
        case 4, 8: self.init(UInt32(low))
        case 32: self.init(high: high, low: low)
        default: return nil
        }
    }

    private static func isDash(_ index: Int) -> Bool { index == 8 || index == 13 || index == 18 || index == 23 }

    private static func digit(_ character: UInt8) -> UInt64? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(character - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(character - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(character - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The 16-bit form. Nil if the UUID is not the Bluetooth base UUID with 16 bits in its place.
    public var short: UInt16? {
        guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh else { return nil }
        return UInt16(exactly: high >> 32)
    }

    /// The 32-bit form. Nil if the UUID is not the Bluetooth base UUID with 32 bits in its place.
    package var short32: UInt32? {
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
