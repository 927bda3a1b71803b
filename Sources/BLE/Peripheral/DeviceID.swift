internal import Waiting

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
    /// The six octets of a device address, the first one the most significant. Zero for any other text.
    private let octets: UInt64
    /// Any other text. An address has none: programs keep thousands of ids, and compare them for each advertisement.
    private let text: Boxed<String>?

    /// The text.
    public var rawValue: String { text?.value ?? Self.notation(octets) }

    /// Creates an id from its text. A device address is changed to upper case with colons: `f0-f1-f2-f3-f4-f5` is
    /// the same device as `F0:F1:F2:F3:F4:F5`. Any other text is kept as it is.
    public init(rawValue: String) {
        self.init(Self.octets(rawValue), rawValue)
    }

    /// Creates an id from a device address in the usual notation, in upper case with colons. Any other text is kept as
    /// it is.
    package init(address: String) {
        var address = address
        self = address.withUTF8 { DeviceID(addressUTF8: UnsafeRawBufferPointer($0)) }
    }

    /// Creates an id from the same in UTF-8.
    package init(addressUTF8 text: UnsafeRawBufferPointer) {
        self.init(
            Self.octets(text, separators: (UInt8(ascii: ":"), UInt8(ascii: ":")), acceptsLowercase: false),
            String(decoding: text, as: UTF8.self))
    }

    /// Creates the id of a device address, whose first octet is the most significant one of 48 bits.
    package init(address: UInt64) {
        precondition(address >> 48 == 0, "an address has 48 bits")
        (octets, text) = (address, nil)
    }

    private init(_ octets: UInt64?, _ text: @autoclosure () -> String) {
        self.octets = octets ?? 0
        self.text = octets == nil ? Boxed(text()) : nil
    }

    /// Whether the text is a device address: six pairs of hexadecimal digits.
    public var isAddress: Bool { address != nil }

    /// The device address as a number, whose first octet is the most significant one. Nil for any other text.
    package var address: UInt64? {
        guard let text else { return octets }
        return Self.octets(text.value)
    }

    /// Whether the texts are the same.
    public static func == (left: DeviceID, right: DeviceID) -> Bool {
        left.octets == right.octets && left.text == right.text
    }

    /// Whether the texts differ.
    public static func != (left: DeviceID, right: DeviceID) -> Bool { !(left == right) }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(octets)
        if let text { hasher.combine(text.value) }
    }

    // MARK: Notation

    private static func octets(_ text: String) -> UInt64? {
        var text = text
        return text.withUTF8 {
            octets(
                UnsafeRawBufferPointer($0), separators: (UInt8(ascii: ":"), UInt8(ascii: "-")),
                acceptsLowercase: true)
        }
    }

    /// Returns the octets of six pairs of hexadecimal digits. Nil for any other text.
    package static func octets(
        _ text: UnsafeRawBufferPointer, separators: (UInt8, UInt8), acceptsLowercase: Bool
    ) -> UInt64? {
        guard text.count == 17, let characters = text.baseAddress else { return nil }
        var octets: UInt64 = 0
        for start in stride(from: 0, to: 18, by: 3) {
            let high = value(characters.load(fromByteOffset: start, as: UInt8.self), acceptsLowercase)
            let low = value(characters.load(fromByteOffset: start + 1, as: UInt8.self), acceptsLowercase)
            guard high | low < 16 else { return nil }
            octets = octets << 8 | UInt64(high << 4 | low)
            guard start < 15 else { break }
            let separator = characters.load(fromByteOffset: start + 2, as: UInt8.self)
            guard separator == separators.0 || separator == separators.1 else { return nil }
        }
        return octets
    }

    /// Returns the value of a digit; more than 15 for another character.
    @inline(__always)
    private static func value(_ character: UInt8, _ acceptsLowercase: Bool) -> UInt8 {
        let digit = character &- UInt8(ascii: "0")
        if digit < 10 { return digit }
        let letter = (acceptsLowercase ? character & ~0x20 : character) &- UInt8(ascii: "A")
        return letter < 6 ? letter + 10 : 0xF0
    }

    /// Returns an address in upper case, with colons or another separator.
    package static func notation(_ octets: UInt64, separator: UInt8 = UInt8(ascii: ":")) -> String {
        String(unsafeUninitializedCapacity: 17) { space in
            write(octets, separator, to: space)
            return 17
        }
    }

    /// Writes the 17 characters of an address.
    package static func write(_ octets: UInt64, _ separator: UInt8, to space: UnsafeMutableBufferPointer<UInt8>) {
        for index in 0..<6 {
            let octet = UInt8(truncatingIfNeeded: octets >> (40 - 8 * UInt64(index)))
            space[3 * index] = digit(octet >> 4)
            space[3 * index + 1] = digit(octet & 0xF)
            if index < 5 { space[3 * index + 2] = separator }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension DeviceID: Comparable {
    /// Whether the text of one id comes before that of the other, in the order of their code points.
    public static func < (left: DeviceID, right: DeviceID) -> Bool {
        // Digits come before letters, and all addresses have the same length.
        guard left.text == nil, right.text == nil else { return left.rawValue < right.rawValue }
        return left.octets < right.octets
    }
}

extension DeviceID: ExpressibleByStringLiteral, CustomStringConvertible {
    /// Creates an id from its text; see ``init(rawValue:)``.
    public init(stringLiteral text: String) { self.init(rawValue: text) }

    /// The text.
    public var description: String { rawValue }
}

extension DeviceID: CustomReflectable {
    /// The text.
    public var customMirror: Mirror { Mirror(self, children: ["rawValue": rawValue]) }
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
