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

/// Tells why a command waits for Bluetooth, when the reason changes, and when the wait is over.
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

/// Tells which of several radios cannot be used, and what happens to them.
struct RadioNotes: Sendable {
    private let central: Central
    private let events: BoundedStream<RadioEvent>
    private let note: @Sendable (String) -> Void
    /// Why radios cannot be used, as it was told, by their names.
    private var told: [String: String] = [:]

    /// Tells which radios cannot be used now. Nil for a central that has no several radios.
    init?(_ central: Central, _ note: @escaping @Sendable (String) -> Void) async {
        guard central.radioNames.count > 1 else { return nil }
        (self.central, self.note) = (central, note)
        events = await central.radioEvents()
        for radio in await central.radios { tellObstacle(of: radio) }
    }

    /// Tells what happens to the radios, until the central ends or the task is cancelled.
    mutating func follow() async throws {
        for try await event in events {
            switch event {
            case .appeared(let radio):
                told[radio] = nil
                tell(radio, "it can be used")
            case .gone(let radio, _):
                // It may be there again.
                if let status = await central.radios.first(where: { $0.name == radio }) { tellObstacle(of: status) }
            case .scanFailed(let radio, let error): tell(radio, error.message)
            case .silent(let radio, let duration): tell(radio, "it has heard nothing for \(duration)")
            case .healed(let radio): tell(radio, "it hears again")
            case .restarting, .slotsChanged: break
            }
        }
    }

    /// Tells why a radio cannot be used, unless that was told before.
    private mutating func tellObstacle(of radio: RadioStatus) {
        guard let obstacle = radio.obstacle, told[radio.name] != obstacle.message else { return }
        told[radio.name] = obstacle.message
        tell(radio.name, obstacle.message)
    }

    private func tell(_ radio: String, _ text: String) { note("radio \(radio): \(text)") }
}
