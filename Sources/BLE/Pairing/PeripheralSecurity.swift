/// The security that an attribute requires of the link.
public enum AttributeSecurity: Int, Comparable, Hashable, Sendable {
    /// No security.
    case open
    /// Encryption, after any pairing.
    case encrypted
    /// Encryption, after a pairing in which the user compared or entered a number.
    case authenticated

    /// Compares the levels of security.
    public static func < (left: AttributeSecurity, right: AttributeSecurity) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// How a defined peripheral pairs: its IO capability and the actions of its user.
public enum SimulatedPairing: Sendable {
    /// Just Works: it has neither a display nor a keyboard.
    case justWorks
    /// It shows this number, which is entered on the other side.
    case display(Passkey)
    /// It has a keyboard. The closure receives the number that the other side shows, and returns the number that the
    /// user enters, or nil to give up.
    case keyboard(@Sendable (Passkey) async -> Passkey?)
    /// It shows a number to compare. The closure receives it, and returns whether the user confirms it.
    case comparison(@Sendable (Passkey) async -> Bool)
    /// It rejects pairing.
    case rejected
    /// It does not respond to pairing.
    case unanswered

    /// The IO capability of the peripheral.
    public var capability: IOCapability {
        switch self {
        case .justWorks, .rejected, .unanswered: .noInputNoOutput
        case .display: .displayOnly
        case .keyboard: .keyboardOnly
        case .comparison: .displayYesNo
        }
    }
}

/// The association model of a pairing, which the two IO capabilities determine (Core Specification 5.4, volume 3, part
/// H, table 2.8, for LE Secure Connections).
public enum AssociationModel: Hashable, Sendable {
    /// Just Works: no number is compared or entered, and there is no protection against a device in the middle.
    case justWorks
    /// Numeric comparison: both sides show a number, and both users confirm that it is the same.
    case numericComparison
    /// Passkey entry: the responder shows a number, which is entered on the initiator.
    case passkeyEnteredOnInitiator
    /// Passkey entry: the initiator shows a number, which is entered on the responder.
    case passkeyEnteredOnResponder
    /// Passkey entry: the same number is entered on both sides.
    case passkeyEnteredOnBoth

    /// Returns the model for an initiator, here the central, and a responder.
    public init(initiator: IOCapability, responder: IOCapability) {
        self =
            switch (initiator, responder) {
            case (.noInputNoOutput, _), (_, .noInputNoOutput): .justWorks
            case (.keyboardOnly, .keyboardOnly): .passkeyEnteredOnBoth
            case (_, .keyboardOnly): .passkeyEnteredOnResponder
            case (.keyboardOnly, _): .passkeyEnteredOnInitiator
            case (.displayOnly, .keyboardDisplay): .passkeyEnteredOnResponder
            case (.keyboardDisplay, .displayOnly): .passkeyEnteredOnInitiator
            case (.displayOnly, _), (_, .displayOnly): .justWorks
            case (.displayYesNo, _), (.keyboardDisplay, _): .numericComparison
            }
    }
}
