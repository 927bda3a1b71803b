/// The IO capability of this side (Core Specification 5.4, volume 3, part H, section 2.3.2). With the peripheral's, it
/// determines the association model; see Docs/Pairing.md.
public enum IOCapability: String, CaseIterable, Hashable, Sendable {
    /// Numbers can be shown, but the user cannot answer.
    case displayOnly = "DisplayOnly"
    /// Numbers can be shown, and the user can answer yes or no.
    case displayYesNo = "DisplayYesNo"
    /// Numbers can be entered, but not shown.
    case keyboardOnly = "KeyboardOnly"
    /// Numbers can be neither shown nor entered: pairing uses Just Works or fails.
    case noInputNoOutput = "NoInputNoOutput"
    /// Numbers can be shown and entered.
    case keyboardDisplay = "KeyboardDisplay"
}

/// How a central pairs: its IO capability and its delegate.
///
/// By default, pairing uses *Just Works*, without prompts. A pairing is then
/// - accepted for a peripheral that this central is pairing with (``Peripheral/pair(timeout:)``), or is reading from,
///   writing to or subscribing to at that moment, because an attribute may require a secure link. Such a link is
///   encrypted, not authenticated: it is not protected against a device that listens to the pairing itself, or that
///   sits between the two sides;
/// - refused at all other times, including when a peripheral requests it on a link of this central, because any device
///   that uses the peripheral's name or address could do so. ``acceptsPeripheralRequests`` allows it;
/// - refused if it requires more than consent: numbers, PIN codes, and services that the other side wants to use here.
public struct PairingBehavior: Sendable {
    /// The IO capability of this side.
    public var capability: IOCapability
    /// The delegate that shows and answers prompts. Nil for Just Works.
    public var delegate: (any PairingDelegate)?
    /// Whether this central also answers for the system: for peripherals that it is not connected to, and for other
    /// programs without an agent of their own. False by default.
    ///
    /// bluetoothd sends such prompts to the first program that has an agent, even if it is not the default agent. If
    /// this is false, they are refused.
    public var isDefaultAgent: Bool
    /// Whether a peripheral with a link to this central may start to pair at any time, if there is no delegate to ask.
    /// False by default, because otherwise a connection would be enough for a peripheral to become bonded.
    public var acceptsPeripheralRequests = false

    /// Creates a behavior that prompts `delegate`.
    public init(
        capability: IOCapability, delegate: any PairingDelegate, isDefaultAgent: Bool = false
    ) {
        self.capability = capability
        self.delegate = delegate
        self.isDefaultAgent = isDefaultAgent
    }

    private init() {
        capability = .noInputNoOutput
        isDefaultAgent = false
    }

    /// Pairing without prompts; see ``PairingBehavior`` for what is accepted.
    public static let justWorks = PairingBehavior()

    /// Pairing with prompts. The delegate can show and enter numbers by default.
    public static func prompting(
        _ delegate: any PairingDelegate, capability: IOCapability = .keyboardDisplay
    ) -> PairingBehavior {
        PairingBehavior(capability: capability, delegate: delegate)
    }
}
