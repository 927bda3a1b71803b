/// What the system knows of its relation to a peripheral.
public struct PairingState: Hashable, Sendable {
    /// Whether the two have keys for an encrypted link. Kept over restarts when the pairing made a bond.
    public let isPaired: Bool
    /// Whether the system lets it use services without asking.
    public let isTrusted: Bool
    /// Whether the system lets no link to it come up.
    public let isBlocked: Bool
    /// Under which id it will be known from the next start of Bluetooth on: a peripheral with a private address tells its
    /// identity address when it pairs. Until then, and for all others, its present id.
    public let identity: Peripheral.ID

    /// A state.
    public init(isPaired: Bool, isTrusted: Bool, isBlocked: Bool, identity: Peripheral.ID) {
        self.isPaired = isPaired
        self.isTrusted = isTrusted
        self.isBlocked = isBlocked
        self.identity = identity
    }
}

/// What a system can be told about a peripheral.
public enum PeripheralSetting: Hashable, Sendable {
    /// It may use services without asking.
    case trusted
    /// No link to it comes up.
    case blocked
}
