import BLE
import Synchronization

/// The handling of an adapter that is off, or of Bluetooth that has stopped, before or during the work.
enum Outage {
    /// The command ends with the corresponding exit status.
    case ends
    /// The command waits, and its work continues by itself.
    case isWaitedFor
    /// The work does not depend on the adapter.
    case isNothing
}

/// Tells why a command waits for Bluetooth, once for each reason, and when the wait is over.
final class OutageNotes: Sendable {
    private let output: Output
    private let told = Mutex<String?>(nil)

    init(_ output: Output) { self.output = output }

    func waits(for error: BLEError) {
        let isNew = told.withLock { told in
            defer { told = error.message }
            return told != error.message
        }
        if isNew { output.note("\(error.message); waiting\(error.remedy.map { ". \($0)" } ?? "")") }
    }

    func isOver() {
        if told.withLock({ $0.take() }) != nil { output.note("Bluetooth is available") }
    }
}

extension Output {
    /// Tells which of several radios cannot be used, and why.
    func noteMissing(_ radios: [RadioStatus]) {
        for radio in radios { if let obstacle = radio.obstacle { note(about: radio.name, obstacle.message) } }
    }

    /// Tells what happens to several radios, until the central ends.
    func follow(_ events: BoundedStream<RadioEvent>, of central: Central) async throws {
        for try await event in events {
            switch event {
            case .appeared(let radio): note(about: radio, "it can be used")
            case .gone(let radio, _):
                // It may be there again.
                let status = await central.radios.first { $0.name == radio }
                if let obstacle = status?.obstacle { note(about: radio, obstacle.message) }
            case .scanFailed(let radio, let error): note(about: radio, error.message)
            case .silent(let radio, let duration): note(about: radio, "it has heard nothing for \(duration)")
            case .healed(let radio): note(about: radio, "it hears again")
            case .restarting, .slotsChanged: break
            }
        }
    }

    private func note(about radio: String, _ text: String) { note("radio \(radio): \(text)") }
}
