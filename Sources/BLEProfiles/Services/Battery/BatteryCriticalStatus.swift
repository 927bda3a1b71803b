public import BLE

/// Whether a battery is about to fail (GATT Specification Supplement, Battery Critical Status).
public struct BatteryCriticalStatus: OptionSet, Hashable, ValueCodable {
    /// The bits.
    public let rawValue: UInt8
    /// Any bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// There is so little energy that the device may not work as it should.
    public static let criticalPower = BatteryCriticalStatus(rawValue: 0x01)
    /// It must be serviced at once.
    public static let immediateServiceRequired = BatteryCriticalStatus(rawValue: 0x02)
}

extension BatteryCriticalStatus: NamedConstants {
    static let names = bits("criticalPower", "immediateServiceRequired")
}
