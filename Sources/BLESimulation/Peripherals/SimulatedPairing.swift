public import BLE

/// How a simulated peripheral pairs: its IO capability and the actions of its user.
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
