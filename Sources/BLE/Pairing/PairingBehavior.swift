/// What this side has to show numbers with and to enter them with. It decides how two devices pair; see Docs/Pairing.md.
public enum PairingCapability: String, CaseIterable, Hashable, Sendable {
    /// It shows numbers and asks nothing.
    case displayOnly = "DisplayOnly"
    /// It shows numbers and can be told yes or no.
    case displayYesNo = "DisplayYesNo"
    /// Numbers can be entered, not shown.
    case keyboardOnly = "KeyboardOnly"
    /// Neither: pairing just works, or does not.
    case noInputNoOutput = "NoInputNoOutput"
    /// Both.
    case keyboardDisplay = "KeyboardDisplay"
}

/// How a central pairs: what it can show and ask, and who does.
///
/// By default pairing *just works*: nobody is asked anything. That is
/// - accepted for a peripheral that this central is pairing with (``Peripheral/pair(timeout:)``) or is reading from, writing to or
///   subscribing to just then, which may be because an attribute wants a secure link. Such a link is encrypted, not
///   authenticated: who listens to the pairing itself, or sits between the two, is not kept out;
/// - refused at all other times, also when a peripheral asks for it on a link of this central's: whoever has taken a
///   peripheral's name or address could do that. Unless ``acceptsPeripheralRequests`` is set;
/// - refused where more than an assent is wanted: numbers, PIN codes, and services that the other side wants to use here.
public struct PairingBehavior: Sendable {
    /// What this side has to show and ask with.
    public var capability: PairingCapability
    /// Who shows and asks; nil when pairing just works.
    public var delegate: (any PairingDelegate)?
    /// Whether this central also answers for the system: for peripherals that it has nothing to do with, and for other programs
    /// that have no agent of their own. False by default. (BlueZ gives such questions to the first program that has an agent,
    /// whether it wanted them or not; they are refused here then.)
    public var isDefaultAgent: Bool
    /// Whether a peripheral that this central has a link to may begin to pair at any time, where nobody is asked. False by default:
    /// it would be bonded with for nothing more than being connected to.
    public var acceptsPeripheralRequests = false

    /// A behavior in which `delegate` is asked.
    public init(
        capability: PairingCapability, delegate: any PairingDelegate, isDefaultAgent: Bool = false
    ) {
        self.capability = capability
        self.delegate = delegate
        self.isDefaultAgent = isDefaultAgent
    }

    private init() {
        capability = .noInputNoOutput
        isDefaultAgent = false
    }

    /// Nobody is asked; see ``PairingBehavior`` for what is accepted.
    public static let justWorks = PairingBehavior()

    /// Somebody with a display and a keyboard is asked.
    public static func prompting(
        _ delegate: any PairingDelegate, capability: PairingCapability = .keyboardDisplay
    ) -> PairingBehavior {
        PairingBehavior(capability: capability, delegate: delegate)
    }
}

/// Shows what a pairing has to show and answers what it asks.
///
/// Each question is asked in a task of its own. That task is cancelled, and ``promptEnded(for:)`` is called, when the answer is
/// not wanted any more: after 60 s, which is BlueZ's limit, when the pairing or the link ends, and when the other side withdraws.
/// (The peripheral's own limit is 30 s from step to step: Core Specification 5.4, volume 3, part H, section 3.4.)
///
/// What is not implemented is refused. With a ``PairingCapability`` that rules a question out, it is never asked.
public protocol PairingDelegate: Sendable {
    /// Whether the peripheral shows this number, too.
    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool
    /// The number that the peripheral shows; nil to refuse.
    func enterPasskey(for peripheral: Peripheral) async -> Passkey?
    /// Shows a number that is to be entered on the peripheral, until ``promptEnded(for:)``. Called again for each digit that
    /// is entered there, where the peripheral tells.
    ///
    /// May return at once or wait. Its task is cancelled when another number follows and when the prompt has ended.
    ///
    /// - Parameter entered: the number of digits entered so far, 0 to 6.
    func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async
    /// The PIN code of 1 to 16 characters that the peripheral wants; nil to refuse. (Classic devices of before 2007.)
    func enterPINCode(for peripheral: Peripheral) async -> String?
    /// Shows a PIN code that is to be entered on the peripheral, until ``promptEnded(for:)``.
    func show(pinCode: String, for peripheral: Peripheral) async
    /// Whether to pair with a peripheral where there is no number to compare: because it has asked for it, or because an attribute
    /// wants a secure link. Not asked after ``Peripheral/pair(timeout:)``.
    func authorizePairing(with peripheral: Peripheral) async -> Bool
    /// Whether a device that is not trusted may use a service here.
    func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool
    /// What was shown or asked for this peripheral is void, or done with.
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
    /// Has nothing to take away.
    public func promptEnded(for peripheral: Peripheral) async {}
}
