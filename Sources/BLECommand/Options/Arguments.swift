import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEProfiles

/// A characteristic on the command line.
struct CharacteristicArgument: Sendable {
    let uuid: BluetoothUUID

    init(named text: String) throws {
        guard let uuid = AssignedNumbers.characteristic(text) else { throw notNamed(text, "characteristic") }
        self.uuid = uuid
    }

    static let help: ArgumentHelp = "The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level."
}

/// A service on the command line.
struct ServiceArgument: Sendable {
    let uuid: BluetoothUUID

    /// The SIG's services, and the vendors' services that have profiles.
    static let catalog: Catalog = [.service(.nordicUART, "Nordic UART")]

    init(named text: String) throws {
        guard let uuid = Self.catalog.service(text) else { throw notNamed(text, "service") }
        self.uuid = uuid
    }

    /// Returns the text that stands for a service on the command line: its name with hyphens if it has one, otherwise
    /// its UUID.
    static func text(_ uuid: BluetoothUUID) -> String {
        guard let assignment = catalog.assignment(of: uuid), assignment.kind == .service else {
            return uuid.description
        }
        return assignment.name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
    }
}

/// Bytes in hexadecimal.
struct HexArgument: ExpressibleByArgument, Sendable {
    let bytes: [UInt8]

    init?(argument: String) {
        guard let bytes = Hex.bytes(argument) else { return nil }
        self.bytes = bytes
    }
}

/// Returns the error for an unknown name, with a way to find others.
private func notNamed(_ text: String, _ kind: String) -> ValidationError {
    ValidationError(
        "No \(kind) is called so, and it is no UUID. Names are those of the SIG: "
            + "ble numbers --kind \(kind) WORDS finds them by a word.")
}

/// The help for the optional first argument of commands that can choose a peripheral themselves.
let idHelp: ArgumentHelp = "A device address, or the beginning of a name that only one peripheral has."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
}
