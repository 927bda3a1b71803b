/// A snapshot of a Bluetooth controller of this machine.
public struct Adapter: Hashable, Codable, Sendable {
    /// The system's name for it, such as `hci0`.
    public let id: String
    /// Its device address, such as `C0:FF:EE:00:00:01`.
    public let address: String
    /// The name that it shows to other devices.
    public let name: String
    /// Whether it is powered on.
    public let isPowered: Bool
    /// Whether any program on this machine is scanning with it.
    public let isDiscovering: Bool
    /// Whether the central uses it.
    public let isInUse: Bool

    /// Creates an adapter's description.
    public init(
        id: String, address: String, name: String, isPowered: Bool, isDiscovering: Bool, isInUse: Bool = false
    ) {
        self.id = id
        self.address = address
        self.name = name
        self.isPowered = isPowered
        self.isDiscovering = isDiscovering
        self.isInUse = isInUse
    }
}

/// The state of the central's adapter.
public enum AdapterState: String, Hashable, Codable, Sendable {
    /// Powered on.
    case poweredOn
    /// Present, but powered off.
    case poweredOff
    /// Not present: unplugged, or never there.
    case unavailable
    /// Bluetooth stopped, or the connection to it was interrupted. The central waits for its return.
    case resetting
}
