import ArgumentParser
import BLE
import BLEProfiles

/// A characteristic as it is named on the command line.
struct CharacteristicArgument: Sendable {
    let uuid: BluetoothUUID

    init(named text: String) throws {
        guard let uuid = AssignedNumbers.characteristic(text) else { throw notNamed(text, "characteristic") }
        self.uuid = uuid
    }

    static let help: ArgumentHelp = "The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level."
}

/// A service as it is named on the command line.
struct ServiceArgument: Sendable {
    let uuid: BluetoothUUID

    /// The SIG's services, and those of vendors that there are profiles for.
    static let catalog: Catalog = [.service(.nordicUART, "Nordic UART")]

    init(named text: String) throws {
        guard let uuid = Self.catalog.service(text) else { throw notNamed(text, "service") }
        self.uuid = uuid
    }

    /// A service as it can be given: its name in one word, where it has one, otherwise its UUID.
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

/// What is wrong with a name, and where there are others.
private func notNamed(_ text: String, _ kind: String) -> ValidationError {
    ValidationError(
        "No \(kind) is called so, and it is no UUID. Names are those of the SIG: "
            + "ble numbers --kind \(kind) WORDS finds them by a word.")
}

/// The optional first argument of commands that can choose a peripheral by themselves.
let idHelp: ArgumentHelp = "A device address, or the beginning of a name that only one peripheral has."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
}
