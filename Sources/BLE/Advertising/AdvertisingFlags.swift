/// Whether and how an advertiser can be discovered (Core Specification Supplement 11, part A, section 1.3).
///
/// Bits without a name are reserved. They are preserved, but have no meaning.
public struct AdvertisingFlags: OptionSet, Hashable, Codable, Sendable {
    /// The first octet of the flags.
    public let rawValue: UInt8

    /// Creates flags from their octet.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Discoverable for a limited time (limited discoverable mode).
    public static let limitedDiscoverable = AdvertisingFlags(rawValue: 0x01)
    /// Discoverable without a time limit (general discoverable mode).
    public static let generalDiscoverable = AdvertisingFlags(rawValue: 0x02)
    /// Does not support Classic (BR/EDR).
    public static let classicNotSupported = AdvertisingFlags(rawValue: 0x04)
    /// The controller supports LE and Classic with the same device simultaneously.
    public static let simultaneousController = AdvertisingFlags(rawValue: 0x08)
    /// The host supports LE and Classic simultaneously. Deprecated by the specification.
    public static let simultaneousHost = AdvertisingFlags(rawValue: 0x10)
}
