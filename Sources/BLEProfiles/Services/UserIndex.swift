public import BLE

/// Which of a device's users a value belongs to: the User ID of measurements, and the User Index characteristic (GATT Specification
/// Supplement, User Index).
public struct UserIndex: RawRepresentable, Hashable, ValueCodable {
    /// The number, 0 to 255.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A user that the device does not know (255).
    public static let unknown = UserIndex(rawValue: 0xFF)

    /// Whether it is one of the device's users, 0 to 254.
    public var isKnown: Bool { self != .unknown }
}

extension UserIndex: NamedConstants {
    static let names: [UInt8: String] = [255: "unknown"]
}

extension BluetoothUUID {
    /// The User Data service.
    public static let userData = BluetoothUUID(0x181C)
}

extension Characteristic where Value == UserIndex {
    /// The user whose data the device works with at present.
    public static var userIndex: Self { Characteristic(BluetoothUUID(0x2A9A), service: .userData) }
}
