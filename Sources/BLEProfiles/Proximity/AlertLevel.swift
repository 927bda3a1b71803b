public import BLE

/// The intensity of a device's alert (GATT Specification Supplement, Alert Level). Other numbers are reserved.
public struct AlertLevel: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// No alert.
    public static let none = AlertLevel(rawValue: 0)
    /// A mild alert.
    public static let mild = AlertLevel(rawValue: 1)
    /// The strongest alert that the device supports.
    public static let high = AlertLevel(rawValue: 2)
}

extension AlertLevel: NamedConstants {
    static let names = consecutive("none", "mild", "high")
}
