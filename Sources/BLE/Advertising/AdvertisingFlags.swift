/// Whether and how an advertiser can be discovered (Core Specification Supplement 11, part A, section 1.3). Bits that have no
/// name are reserved; they are kept, and mean nothing.
public struct AdvertisingFlags: OptionSet, Hashable, Sendable {
    /// The first octet of the flags.
    public let rawValue: UInt8

    /// Flags from their octet.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Can be discovered for a short while.
    public static let limitedDiscoverable = AdvertisingFlags(rawValue: 0x01)
    /// Can be discovered.
    public static let generalDiscoverable = AdvertisingFlags(rawValue: 0x02)
    /// Does not speak Classic (BR/EDR).
    public static let classicNotSupported = AdvertisingFlags(rawValue: 0x04)
    /// The controller can do LE and Classic with the same device at once.
    public static let simultaneousController = AdvertisingFlags(rawValue: 0x08)
    /// The host can, too. Deprecated by the specification.
    public static let simultaneousHost = AdvertisingFlags(rawValue: 0x10)
}
