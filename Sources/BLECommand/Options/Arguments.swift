import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEProfiles

/// A service on the command line.
struct ServiceArgument: Sendable {
    let uuid: BluetoothUUID

    /// The services of the SIG and of vendors.
    static let catalog = Catalog.vendors

    init(named text: String) throws {
        guard let uuid = Self.catalog.service(text) else { throw notNamed(text, "service", .service) }
        self.uuid = uuid
    }

    /// Returns the text that stands for a service on the command line: its name with hyphens if it has one, otherwise
    /// its UUID.
    static func text(_ uuid: BluetoothUUID) -> String {
        guard let assignment = catalog.assignment(of: uuid), assignment.kind == .service else {
            return uuid.description
        }
        return commandLineName(assignment.name)
    }
}

/// Bytes in hexadecimal.
struct HexArgument: Sendable {
    let bytes: [UInt8]

    init(hexadecimal text: String) throws {
        guard let bytes = Hex.bytes(text) else {
            throw ValidationError(
                "\"\(text.excerpt)\" is not two hexadecimal digits for each byte, such as 05 or 0a1b.")
        }
        self.bytes = bytes
    }
}

/// Returns the error for an unknown name, with a way to find others.
func notNamed(_ text: String, _ kind: String, _ numbers: AssignedNumber.Kind) -> ValidationError {
    let meant = Suggestion.nearest(to: text, among: numbers).map { " Did you mean \($0)?" } ?? ""
    return ValidationError(
        "\"\(text.excerpt)\" is neither the name of a \(kind) nor a UUID.\(meant) To find the SIG's names: "
            + "ble numbers --kind \(kind) WORDS.")
}

/// The help for the optional first argument of commands that can choose a peripheral themselves.
let idHelp: ArgumentHelp = "A device address, or the beginning of the name of exactly one peripheral."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count is a number from 1.") }
}
