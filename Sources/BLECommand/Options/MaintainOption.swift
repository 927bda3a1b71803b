import ArgumentParser
import BLE
import BLEDefinitions

/// The option of commands that can continue after a link has ended.
struct MaintainOption: ParsableArguments {
    @Flag(
        help: """
            Connect again whenever the link ends, and wait while the peripheral is away, the adapter is off or \
            bluetoothd does not run.
            """)
    var maintain = false

    var outage: Outage { maintain ? .isWaitedFor : .ends }

    /// Makes the central connect again automatically, if requested.
    func apply(to peripheral: Peripheral) async throws(BLEError) {
        if maintain { try await peripheral.setConnectionPolicy(.maintained()) }
    }

    /// Waits for a maintained link, without a time limit.
    func waitForLink(to peripheral: Peripheral) async throws(BLEError) {
        guard maintain else { return }
        for try await state in await peripheral.connectionStates() where state == .connected { return }
    }
}

extension Output {
    /// Writes a gap in a stream of values.
    func gap(_ error: BLEError) throws {
        if json {
            try line(.object(["event": "gap", "reason": .string(error.message)]), "")
        } else {
            note("values may be missing here: \(error.message)")
        }
    }
}
