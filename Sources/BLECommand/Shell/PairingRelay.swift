import BLE
import Synchronization

/// Passes the prompts of a central's pairings on to the command that runs. Between commands, prompts are refused.
final class PairingRelay: PairingDelegate {
    private let current = Mutex<(any PairingDelegate)?>(nil)

    private var delegate: (any PairingDelegate)? { current.withLock(\.self) }

    /// Does the work, during which prompts are those of the delegate.
    func with<Value>(
        _ delegate: any PairingDelegate, _ work: () async throws -> Value
    ) async rethrows -> Value {
        let former = current.withLock { current in
            defer { current = delegate }
            return current
        }
        defer { current.withLock { $0 = former } }
        return try await work()
    }

    func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
        await delegate?.confirm(passkey, for: peripheral) ?? false
    }

    func enterPasskey(for peripheral: Peripheral) async -> Passkey? { await delegate?.enterPasskey(for: peripheral) }

    func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {
        await delegate?.show(passkey, entered: entered, for: peripheral)
    }

    func enterPINCode(for peripheral: Peripheral) async -> String? { await delegate?.enterPINCode(for: peripheral) }

    func show(pinCode: String, for peripheral: Peripheral) async {
        await delegate?.show(pinCode: pinCode, for: peripheral)
    }

    func authorizePairing(with peripheral: Peripheral) async -> Bool {
        await delegate?.authorizePairing(with: peripheral) ?? false
    }

    func authorize(_ service: BluetoothUUID, for peripheral: Peripheral) async -> Bool {
        await delegate?.authorize(service, for: peripheral) ?? false
    }

    func promptEnded(for peripheral: Peripheral) async { await delegate?.promptEnded(for: peripheral) }
}
