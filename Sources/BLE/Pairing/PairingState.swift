/// The system's pairing state and settings for a peripheral.
public struct PairingState: Hashable, Codable, Sendable {
    /// Whether the system and the peripheral have keys for an encrypted link. Kept across restarts if the pairing
    /// created a bond.
    public let isPaired: Bool
    /// Whether the system lets the peripheral use services without authorization.
    public let isTrusted: Bool
    /// Whether the system rejects every link to the peripheral.
    public let isBlocked: Bool
    /// The peripheral's id from the next start of Bluetooth on. A peripheral with a private address discloses its
    /// identity address when it pairs. Before that, and for all other peripherals, this is the current id.
    public let identity: Peripheral.ID

    /// Creates a state.
    public init(isPaired: Bool, isTrusted: Bool, isBlocked: Bool, identity: Peripheral.ID) {
        self.isPaired = isPaired
        self.isTrusted = isTrusted
        self.isBlocked = isBlocked
        self.identity = identity
    }
}

/// A system setting for a peripheral.
public enum PeripheralSetting: Hashable, Sendable {
    /// The peripheral may use services without authorization.
    case trusted
    /// Every link to the peripheral is rejected.
    case blocked
}
