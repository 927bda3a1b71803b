public import BLE

/// The user of a device to whom a value belongs: the User ID of measurements, and the User Index characteristic (GATT
/// Specification Supplement, User Index).
public struct UserIndex: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number, 0 to 255.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A user unknown to the device (255).
    public static let unknown = UserIndex(rawValue: 0xFF)

    /// Whether the user is known to the device, 0 to 254.
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
    /// The current user of the device.
    public static var userIndex: Self { Characteristic(BluetoothUUID(0x2A9A), service: .userData) }
}
