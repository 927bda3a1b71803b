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
