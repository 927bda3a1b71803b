public import BLE

/// How a device is to alert whoever is near it (GATT Specification Supplement, Alert Level). Other numbers are reserved.
public struct AlertLevel: RawRepresentable, Hashable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not at all.
    public static let none = AlertLevel(rawValue: 0)
    /// A little.
    public static let mild = AlertLevel(rawValue: 1)
    /// As much as it can.
    public static let high = AlertLevel(rawValue: 2)
}

extension AlertLevel: NamedConstants {
    static let names = consecutive("none", "mild", "high")
}
