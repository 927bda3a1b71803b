import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEProfiles

/// A service on the command line.
struct ServiceArgument: Sendable {
    let uuid: BluetoothUUID

    init(named text: String) throws {
        guard let uuid = Catalog.shown.service(text) else { throw notNamed(text, "service", .service) }
        self.uuid = uuid
    }

    /// Returns the text that stands for a service on the command line: its name with hyphens if it has one, otherwise
    /// its UUID.
    static func text(_ uuid: BluetoothUUID) -> String { text(uuid, in: .shown) }

    static func text(_ uuid: BluetoothUUID, in catalog: Catalog) -> String {
        guard let assignment = catalog.assignment(of: uuid), assignment.kind == .service else {
            return uuid.description
        }
        return commandLineName(assignment.name)
    }
}

/// Returns the error for an unknown name, with a way to find others.
func notNamed(_ text: String, _ kind: String, _ numbers: AssignedNumber.Kind) -> ValidationError {
    let meant = Suggestion.nearest(to: text, among: numbers, in: .shown).map { " Did you mean \($0)?" } ?? ""
    return ValidationError(
        "\"\(text.excerpt)\" is neither the name of a \(kind) nor a UUID.\(meant) To find the SIG's names: "
            + "ble numbers --kind \(kind) WORDS.")
}

/// The help for the optional first argument of commands that can choose a peripheral themselves.
let idHelp: ArgumentHelp =
    "A device address, or the beginning of the name of exactly one peripheral; to read, words of its name will do."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count is a number from 1.") }
}
