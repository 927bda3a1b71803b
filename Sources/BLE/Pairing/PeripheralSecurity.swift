/// What an attribute wants of the link before it can be used.
public enum AttributeSecurity: Int, Comparable, Hashable, Sendable {
    /// Nothing.
    case open
    /// Encryption: any pairing.
    case encrypted
    /// Encryption after a pairing in which a person has compared or entered a number.
    case authenticated

    /// Which is less.
    public static func < (left: AttributeSecurity, right: AttributeSecurity) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// How a defined peripheral pairs: what it has to show and enter numbers with, and what its user does.
public enum PairingMethod: Sendable {
    /// It has neither display nor keys.
    case justWorks
    /// It shows this number, which is to be entered on the other side.
    case display(Passkey)
    /// It has keys: the closure is what its user enters, being told the number that the other side shows; nil to give up.
    case keyboard(@Sendable (Passkey) async -> Passkey?)
    /// It shows a number that is to be the same on the other side: the closure is whether its user finds that.
    case comparison(@Sendable (Passkey) async -> Bool)
    /// It does not pair.
    case rejected
    /// It does not answer.
    case unanswered

    /// What it has to show and enter numbers with.
    public var capability: PairingCapability {
        switch self {
        case .justWorks, .rejected, .unanswered: .noInputNoOutput
        case .display: .displayOnly
        case .keyboard: .keyboardOnly
        case .comparison: .displayYesNo
        }
    }
}

/// What happens between two devices that pair, as their capabilities make it (Core Specification 5.4, volume 3, part H, table 2.8,
/// for LE Secure Connections).
public enum PairingProcedure: Hashable, Sendable {
    /// Nothing: anybody may be in between.
    case justWorks
    /// Both show a number, and both users say whether it is the same.
    case comparison
    /// The responder shows a number, which is entered at the initiator.
    case enteredByInitiator
    /// The initiator shows a number, which is entered at the responder.
    case enteredByResponder
    /// The same number is entered at both.
    case enteredByBoth

    /// The procedure between the side that begins, here the central, and the other.
    public init(initiator: PairingCapability, responder: PairingCapability) {
        self =
            switch (initiator, responder) {
            case (.noInputNoOutput, _), (_, .noInputNoOutput): .justWorks
            case (.keyboardOnly, .keyboardOnly): .enteredByBoth
            case (_, .keyboardOnly): .enteredByResponder
            case (.keyboardOnly, _): .enteredByInitiator
            case (.displayOnly, .keyboardDisplay): .enteredByResponder
            case (.keyboardDisplay, .displayOnly): .enteredByInitiator
            case (.displayOnly, _), (_, .displayOnly): .justWorks
            case (.displayYesNo, _), (.keyboardDisplay, _): .comparison
            }
    }
}
