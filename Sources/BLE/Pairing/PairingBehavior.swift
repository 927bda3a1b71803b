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

/// Shows the prompts of a pairing to the user and returns the user's answers.
///
/// Each prompt has a task of its own. The task is cancelled, and ``promptEnded(for:)`` is called, when the answer is no
/// longer wanted: after the stack's limit, 60 s with bluetoothd, when the pairing or the link ends, and when the other
/// side withdraws. The peripheral's own limit is 30 s from step to step (Core Specification 5.4, volume 3, part H,
/// section 3.4).
///
/// A prompt whose method is not implemented is refused. A prompt that the ``IOCapability`` rules out never occurs.
public protocol PairingDelegate: Sendable {
    /// Returns whether the peripheral shows the same number.
    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool
    /// Returns the number that the peripheral shows, or nil to refuse.
    func enterPasskey(for peripheral: Peripheral) async -> Passkey?
    /// Shows a number to be entered on the peripheral, until ``promptEnded(for:)``. Called again for each digit entered
    /// there, if the peripheral reports it.
    ///
    /// The method may return immediately or wait. Its task is cancelled when another number follows, and when the
    /// prompt has ended.
    ///
    /// - Parameter entered: the number of digits entered so far, 0 to 6.
    func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async
    /// Returns the PIN code of 1 to 16 characters that the peripheral requires, or nil to refuse. Used by Classic
    /// devices from before 2007.
    func enterPINCode(for peripheral: Peripheral) async -> String?
    /// Shows a PIN code to be entered on the peripheral, until ``promptEnded(for:)``.
    func show(pinCode: String, for peripheral: Peripheral) async
    /// Returns whether to pair with a peripheral without comparing a number, because the peripheral requested it or an
    /// attribute requires a secure link. Not called for ``Peripheral/pair(timeout:)``.
    func authorizePairing(with peripheral: Peripheral) async -> Bool
    /// Returns whether an untrusted device may use a service of this machine.
    func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool
    /// Called when the prompts for this peripheral are complete or no longer valid.
    func promptEnded(for peripheral: Peripheral) async
}

extension PairingDelegate {
    /// Refuses.
    public func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool { false }
    /// Refuses.
    public func enterPasskey(for peripheral: Peripheral) async -> Passkey? { nil }
    /// Shows nothing.
    public func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {}
    /// Refuses.
    public func enterPINCode(for peripheral: Peripheral) async -> String? { nil }
    /// Shows nothing.
    public func show(pinCode: String, for peripheral: Peripheral) async {}
    /// Refuses.
    public func authorizePairing(with peripheral: Peripheral) async -> Bool { false }
    /// Refuses.
    public func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool { false }
    /// Does nothing.
    public func promptEnded(for peripheral: Peripheral) async {}
}
