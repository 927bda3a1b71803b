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
