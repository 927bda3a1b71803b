import ArgumentParser
import BLE

/// For commands that can go on after the end of a link.
struct MaintainOption: ParsableArguments {
    @Flag(help: "Connect again whenever the link ends, and wait when the adapter is off or bluetoothd has stopped.")
    var maintain = false

    var outage: Session.Outage { maintain ? .isWaitedFor : .ends }

    /// Has the link made anew by itself, when that was asked for.
    func apply(to peripheral: Peripheral) async throws(BLEError) {
        if maintain { try await peripheral.setConnectionPolicy(.maintained()) }
    }
}

extension Output {
    /// A gap in a stream of values.
    func gap(_ error: BLEError) throws {
        if json {
            try line(.object(["event": "gap", "reason": .string(error.message)]), "")
        } else {
            note("values may be missing here: \(error.message)")
        }
    }
}
