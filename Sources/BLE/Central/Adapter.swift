/// A Bluetooth controller of this machine, as it was when asked.
public struct Adapter: Hashable, Sendable {
    /// The system's name for it, such as `hci0`.
    public let id: String
    /// Its device address, such as `C0:FF:EE:00:00:01`.
    public let address: String
    /// The name that it shows to others.
    public let name: String
    /// True when it is switched on.
    public let isPowered: Bool
    /// True when anybody on this machine is scanning with it.
    public let isDiscovering: Bool
    /// True for the one that the central uses.
    public let isInUse: Bool

    /// An adapter.
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

/// Whether the central's adapter can be used.
public enum AdapterState: Hashable, Sendable {
    /// Switched on.
    case poweredOn
    /// There, but switched off.
    case poweredOff
    /// Not there: unplugged, or there has never been one.
    case unavailable
    /// Bluetooth has stopped, or the way to it is interrupted; it is watched for and comes back by itself.
    case resetting
}
