public import BLE

/// The critical conditions of a battery (GATT Specification Supplement, Battery Critical Status).
public struct BatteryCriticalStatus: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits.
    public let rawValue: UInt8
    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The energy is so low that the device may not work properly.
    public static let criticalPower = BatteryCriticalStatus(rawValue: 0x01)
    /// The battery must be serviced immediately.
    public static let immediateServiceRequired = BatteryCriticalStatus(rawValue: 0x02)
}

extension BatteryCriticalStatus: NamedConstants {
    static let names = bits("criticalPower", "immediateServiceRequired")
}
