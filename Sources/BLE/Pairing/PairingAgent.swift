/// A question from a backend, or a number to show, while two devices pair.
public enum PairingPrompt: Hashable, Sendable {
    /// Asks whether both sides show this number.
    case confirm(Passkey)
    /// Asks for the number that the peripheral shows.
    case enterPasskey
    /// Shows a number, of which `entered` digits have been entered on the peripheral.
    case show(Passkey, entered: Int)
    /// Asks for the PIN code that the peripheral requires.
    case enterPINCode
    /// Shows a PIN code.
    case showPINCode(String)
    /// Asks whether to pair with the peripheral without comparing a number.
    case authorizePairing
    /// Asks whether the peripheral may use a service of this machine.
    case authorizeService(BluetoothUUID)
}

/// An answer to a prompt.
public enum PairingAnswer: Hashable, Sendable {
    /// The prompt was accepted or shown.
    case accept
    /// The requested number.
    case passkey(Passkey)
    /// The requested PIN code.
    case pinCode(String)
    /// The prompt was refused.
    case refuse
}

/// The agent that a backend prompts while it pairs. A central's agent prompts the user's ``PairingDelegate``; a
/// ``PeripheralHost``'s is that of its configuration:
///
/// ```swift
/// let pairing = PairingAgent(capability: { .displayOnly }) { central, prompt in
///     guard case .show(let passkey, _) = prompt else { return .refuse }
///     print(central, "is to enter", passkey)
///     return .accept
/// }
/// let host = try await PeripheralHost(configuration: .init(pairing: pairing))
/// ```
public struct PairingAgent: Sendable {
    /// The IO capability of this side. Nil if there is no user, and no pairing can succeed.
    public let capability: @Sendable () -> IOCapability?
    /// Whether it is the default agent of the system. That of a host always is.
    public let isDefault: Bool
    /// Answers a prompt for a peripheral, within 60 s. Cancelling the task ends the prompt.
    public let answer: @Sendable (DeviceID, PairingPrompt) async -> PairingAnswer

    /// Creates an agent.
    public init(
        capability: @escaping @Sendable () -> IOCapability?, isDefault: Bool = false,
        answer: @escaping @Sendable (DeviceID, PairingPrompt) async -> PairingAnswer
    ) {
        self.capability = capability
        self.isDefault = isDefault
        self.answer = answer
    }

    /// An agent that refuses every prompt.
    public static let none = PairingAgent(capability: { nil }, answer: { _, _ in .refuse })
}
