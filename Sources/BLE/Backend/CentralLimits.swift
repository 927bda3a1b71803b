/// The limits of a Bluetooth stack that the specification leaves open or that differ between stacks.
public struct CentralLimits: Hashable, Sendable {
    /// The maximum length of an adapter's name, in bytes of UTF-8. 248 by default (Core Specification 5.4, volume 4,
    /// part E, section 6.23).
    public var adapterNameLength: Int
    /// How long the stack waits for the answer to a pairing prompt. 30 s by default, the Security Manager's own limit
    /// (Core Specification 5.4, volume 3, part H, section 3.4).
    public var pairingPromptTimeout: Duration
    /// How long establishing a link may take, including the wait for other attempts to end. 300 s by default.
    public var connectionTimeout: Duration
    /// Whether the stack reports if a peripheral accepts connections. A scan for connectable peripherals throws
    /// `notSupported` if it does not.
    public var reportsConnectability: Bool

    /// Creates limits.
    public init(
        adapterNameLength: Int = 248, pairingPromptTimeout: Duration = .seconds(30),
        connectionTimeout: Duration = .seconds(300), reportsConnectability: Bool = true
    ) {
        self.adapterNameLength = adapterNameLength
        self.pairingPromptTimeout = pairingPromptTimeout
        self.connectionTimeout = connectionTimeout
        self.reportsConnectability = reportsConnectability
    }
}
