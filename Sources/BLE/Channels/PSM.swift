/// The number under which a device accepts L2CAP channels: its Protocol/Service Multiplexer.
///
/// For LE credit-based channels, it is 0x0001 to 0x00FF (Core Specification 5.4, volume 3, part A, section 4.22). The
/// numbers below 0x0080 are assigned by the Bluetooth SIG; the others are chosen by the device, which publishes its
/// choice, for example in a characteristic (``Characteristic/publishedPSM``).
public struct PSM: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number.
    public let rawValue: UInt16
    /// Creates a PSM from its number, which is not checked.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The numbers of LE credit-based channels.
    public static let valid: ClosedRange<PSM> = 0x0001...0x00FF
    /// The numbers that a device may choose. On Linux, only these can be published without the capability
    /// `CAP_NET_BIND_SERVICE`.
    public static let dynamic: ClosedRange<PSM> = 0x0080...0x00FF

    /// Compares the numbers.
    public static func < (left: PSM, right: PSM) -> Bool { left.rawValue < right.rawValue }
}

extension PSM: ExpressibleByIntegerLiteral {
    /// Creates a PSM from its number.
    public init(integerLiteral value: UInt16) { self.init(rawValue: value) }
}

extension PSM: CustomStringConvertible {
    /// The number in hexadecimal, such as `0x0080`.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

/// Stored and sent as its number.
extension PSM: Codable {}

/// As the value of a characteristic, 16 bits, little-endian.
extension PSM: ValueCodable {
    /// Decodes a PSM.
    public init(from reader: inout ValueReader) throws(BLEError) { self.init(rawValue: try reader.uint16()) }
    /// Encodes the PSM.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { writer.uint16(rawValue) }
}

extension Characteristic where Value == PSM {
    /// The characteristic in which Apple's systems publish the PSM of a channel (`CBUUIDL2CAPPSMCharacteristicString`).
    /// It can be in any service.
    public static let publishedPSM = Characteristic(BluetoothUUID("ABDD3056-28FA-441D-A470-55A75A52553A")!)
}
