/// The reason that a link ended. Later versions may add reasons.
public struct DisconnectReason: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    /// A stable name, identical to the constant's name.
    public let rawValue: String
    /// Creates a reason from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// This side requested the disconnection.
    public static let local = DisconnectReason(rawValue: "local")
    /// The peripheral ended it.
    public static let remote = DisconnectReason(rawValue: "remote")
    /// Nothing was received from the peripheral for the supervision timeout.
    public static let timeout = DisconnectReason(rawValue: "timeout")
    /// The keys of the two sides do not match.
    public static let authentication = DisconnectReason(rawValue: "authentication")
    /// The adapter was powered off or unplugged, or the machine was suspended.
    public static let adapterGone = DisconnectReason(rawValue: "adapterGone")
    /// Bluetooth, or the bus connection to it, stopped.
    public static let bluetoothLost = DisconnectReason(rawValue: "bluetoothLost")
    /// The system does not report a reason, as with bluetoothd before 5.83.
    public static let unknown = DisconnectReason(rawValue: "unknown")
}
