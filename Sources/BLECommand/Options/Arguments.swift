import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEProfiles

/// A characteristic on the command line: a UUID or a name, and its number among those of its type.
struct CharacteristicArgument: Sendable {
    let uuid: BluetoothUUID
    /// The position among the peripheral's characteristics of that type, from 1. Nil for the first.
    let number: Int?

    init(named text: String) throws {
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        guard let uuid = Catalog.vendors.characteristic(String(parts[0])) else {
            throw notNamed(text, "characteristic", .characteristic)
        }
        self.uuid = uuid
        number = parts.count == 2 ? Int(parts[1]) : nil
        guard parts.count == 1 || number.map({ $0 > 0 }) == true else {
            throw ValidationError("The number after # counts the characteristics of that type from 1, as in 2a19#2.")
        }
    }

    /// Returns the key of the characteristic. Discovers the services if it has a number.
    func key(on peripheral: Peripheral) async throws(BLEError) -> CharacteristicKey {
        guard let number else { return CharacteristicKey(characteristic: uuid) }
        let all = try await peripheral.services().flatMap { $0[all: uuid] }
        guard all.indices.contains(number - 1) else {
            throw BLEError(
                .characteristicNotFound,
                all.isEmpty
                    ? "the peripheral has no characteristic \(uuid)"
                    : "the peripheral has only \(all.count) of the characteristic \(uuid)", peripheral: peripheral.id,
                characteristic: uuid, missingUUIDs: [uuid], isRetryable: false)
        }
        return all[number - 1].key
    }

    static let help: ArgumentHelp =
        "The characteristic: a UUID of 16, 32 or 128 bits, or a name such as battery-level; 2a19#2 is the second 2a19."
}

/// A service on the command line.
struct ServiceArgument: Sendable {
    let uuid: BluetoothUUID

    /// The SIG's services, and those of vendors.
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
struct HexArgument: ExpressibleByArgument, Sendable {
    let bytes: [UInt8]

    init?(argument: String) {
        guard let bytes = Hex.bytes(argument) else { return nil }
        self.bytes = bytes
    }
}

/// Returns the error for an unknown name, with a way to find others.
private func notNamed(_ text: String, _ kind: String, _ numbers: AssignedNumber.Kind) -> ValidationError {
    let known = AssignedNumbers.all(numbers) + Catalog.vendors.entries.filter { $0.kind == numbers }
    let names = known.map { commandLineName($0.name) }
    let meant = Spelling.nearest(to: commandLineName(text), in: names).map { " Did you mean \($0)?" } ?? ""
    return ValidationError(
        "No \(kind) is called so, and it is no UUID.\(meant) Names are those of the SIG: "
            + "ble numbers --kind \(kind) WORDS finds them by a word.")
}

/// Returns a name in lowercase, with hyphens.
private func commandLineName(_ name: String) -> String {
    name.lowercased().split { !$0.isLetter && !$0.isNumber }.joined(separator: "-")
}

/// The help for the optional first argument of commands that can choose a peripheral themselves.
let idHelp: ArgumentHelp = "A device address, or the beginning of a name that only one peripheral has."

func checkCount(_ count: Int?) throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
}
