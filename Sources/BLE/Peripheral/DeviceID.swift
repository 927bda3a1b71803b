/// The identity of another device, a peripheral or a central. With BlueZ, it is the device address, such as
/// `F0:F1:F2:F3:F4:F5`.
///
/// An id can be stored, and used again by a later program:
///
/// ```swift
/// let strap = central.peripheral("F0:F1:F2:F3:F4:F5")
/// print(try await strap.read(.batteryLevel))
/// ```
public struct DeviceID: RawRepresentable, Hashable, Codable, Sendable {
    /// The text.
    public let rawValue: String

    /// Creates an id from its text. A device address is changed to upper case with colons: `f0-f1-f2-f3-f4-f5` is
    /// the same device as `F0:F1:F2:F3:F4:F5`. Any other text is kept as it is.
    public init(rawValue: String) {
        self.rawValue = Self.address(rawValue) ?? rawValue
    }

    /// Creates an id from a device address in the usual notation, in upper case with colons.
    package init(address: String) { rawValue = address }

    /// Whether the text is a device address: six pairs of hexadecimal digits.
    public var isAddress: Bool { Self.address(rawValue) != nil }

    /// Returns a device address in the usual notation; nil for any other text.
    private static func address(_ text: String) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(17)
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9") where index % 3 != 2: bytes.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F") where index % 3 != 2: bytes.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "f") where index % 3 != 2: bytes.append(byte & ~0x20)
            case UInt8(ascii: ":") where index % 3 == 2, UInt8(ascii: "-") where index % 3 == 2:
                bytes.append(UInt8(ascii: ":"))
            default: return nil
            }
            if bytes.count > 17 { return nil }
        }
        return bytes.count == 17 ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

extension DeviceID: Comparable {
    /// Whether the text of one id comes before that of the other, in the order of their code points.
    public static func < (left: DeviceID, right: DeviceID) -> Bool { left.rawValue < right.rawValue }
}

extension DeviceID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates an id from its text; see ``init(rawValue:)``.
    public init(stringLiteral text: String) { self.init(rawValue: text) }

    /// The text.
    public var description: String { rawValue }
}

extension Peripheral {
    /// The identity of a peripheral.
    public typealias ID = DeviceID
}

extension BLEError {
    /// The error for an id that a stack of device addresses cannot have.
    package static func notAnAddress(_ id: DeviceID) -> BLEError {
        BLEError(
            .invalidArgument, "“\(id)” is not a device address", peripheral: id, isRetryable: false,
            remedy: "An address has six pairs of hexadecimal digits: F0:F1:F2:F3:F4:F5.")
    }
}

/// A device address as a number: the first octet of the written address is the most significant one.
package struct DeviceAddress: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: UInt64

    /// Nil if the number has more than 48 bits.
    package init?(_ rawValue: UInt64) {
        guard rawValue >> 48 == 0 else { return nil }
        self.rawValue = rawValue
    }

    /// Nil if the id is not an address.
    package init?(_ id: DeviceID) {
        guard id.isAddress else { return nil }
        rawValue = id.rawValue.split(separator: ":").reduce(0) { $0 << 8 | (UInt64($1, radix: 16) ?? 0) }
    }

    package var id: DeviceID { DeviceID(address: description) }

    /// The address in the usual notation.
    package var description: String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(17)
        for octet in (0..<6).reversed() {
            let byte = Int(rawValue >> (8 * UInt64(octet)) & 0xFF)
            text += [digits[byte >> 4], digits[byte & 0xF]]
            if octet > 0 { text.append(UInt8(ascii: ":")) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
