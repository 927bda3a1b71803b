/// What a backend asks, or has shown, while two devices pair.
public enum PairingPrompt: Hashable, Sendable {
    /// Do both sides show this number?
    case confirm(Passkey)
    /// Which number does the peripheral show?
    case enterPasskey
    /// Shows a number, of which so many digits have been entered on the peripheral.
    case show(Passkey, entered: Int)
    /// Which PIN code does the peripheral want?
    case enterPINCode
    /// Shows a PIN code.
    case showPINCode(String)
    /// May it pair, where there is nothing to compare?
    case authorizePairing
    /// May it use a service here?
    case authorizeService(BluetoothUUID)
}

/// What a prompt is answered with.
public enum PairingAnswer: Hashable, Sendable {
    /// Yes; seen.
    case accept
    /// The number asked for.
    case passkey(Passkey)
    /// The PIN code asked for.
    case pinCode(String)
    /// No.
    case refuse
}

/// Whom a backend asks while it pairs: its central, which asks the user's ``PairingDelegate``.
public struct PairingAgent: Sendable {
    /// What there is to show and ask with; nil when nobody is there, and no pairing can succeed.
    public let capability: @Sendable () -> PairingCapability?
    /// Whether it answers for the whole system.
    public let isDefault: Bool
    /// Answers a prompt for a peripheral, within 60 s. A cancelled task ends the prompt.
    public let answer: @Sendable (Peripheral.ID, PairingPrompt) async -> PairingAnswer

    /// An agent.
    public init(
        capability: @escaping @Sendable () -> PairingCapability?, isDefault: Bool = false,
        answer: @escaping @Sendable (Peripheral.ID, PairingPrompt) async -> PairingAnswer
    ) {
        self.capability = capability
        self.isDefault = isDefault
        self.answer = answer
    }

    /// Nobody.
    public static let none = PairingAgent(capability: { nil }, answer: { _, _ in .refuse })
}
