import ArgumentParser
import BLE
import BLEProfiles

/// A characteristic as it is named on the command line.
struct CharacteristicArgument: ExpressibleByArgument, Sendable {
    let uuid: BluetoothUUID

    init?(argument: String) {
        guard let uuid = AssignedNumbers.characteristic(argument) else { return nil }
        self.uuid = uuid
    }

    static let help: ArgumentHelp = "The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level."
}

/// A service as it is named on the command line.
struct ServiceArgument: ExpressibleByArgument, Sendable {
    let uuid: BluetoothUUID

    init?(argument: String) {
        guard let uuid = AssignedNumbers.service(argument) else { return nil }
        self.uuid = uuid
    }

    /// A service as it can be given: its name in one word, where the SIG has given it one, otherwise its UUID.
    static func text(_ uuid: BluetoothUUID) -> String {
        guard let assignment = AssignedNumbers.assignment(of: uuid), assignment.kind == .service else {
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

/// The optional first argument of commands that can choose a peripheral by themselves.
let idHelp: ArgumentHelp = "A device address, or the beginning of a name that only one peripheral has."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
}
