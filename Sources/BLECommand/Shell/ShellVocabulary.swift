import ArgumentParser
import BLE
import BLEAssignedNumbers
import FoundationEssentials

/// What the words of a line can be.
struct ShellVocabulary: Sendable {
    /// A command of the shell.
    struct Command: Sendable {
        let name: String
        let aliases: [String]
        /// The names of its options, such as `--count`, and the values of each that takes one. Nil for a flag.
        let options: [String: [String]?]
    }

    /// A peripheral that was found.
    struct KnownPeripheral: Equatable, Sendable {
        let id: Peripheral.ID
        let name: String?
    }

    var peripherals: [KnownPeripheral] = []
    /// The names of services and characteristics.
    var catalog = Catalog.shown
    /// The services of the peripheral whose link is held. Nil if they are not known.
    var database: GATTDatabase?
    /// Whether a link is held, so that commands need no ID.
    var isHolding = false

    /// The commands, without `help`.
    static let commands: [Command] = {
        let help = Array(ShellLine._dumpHelp().utf8)
        let info = try? JSONDecoder().decode(ToolInfo.self, from: Data(help))
        return (info?.command.subcommands ?? []).map(\.shellCommand).filter { $0.name != "help" }
    }()

    /// The JSON with which the argument parser describes a command.
    private struct ToolInfo: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }
        struct Argument: Decodable {
            let kind: String
            let names: [Name]?
            let allValues: [String]?
        }
        struct Command: Decodable {
            let commandName: String
            let aliases: [String]?
            let arguments: [Argument]?
            let subcommands: [Command]?

            var shellCommand: ShellVocabulary.Command {
                var options: [String: [String]?] = [:]
                for argument in arguments ?? [] where argument.kind != "positional" {
                    let values = argument.kind == "option" ? argument.allValues ?? [] : nil
                    for name in argument.names ?? [] {
                        let option = (name.kind == "long" ? "--" : "-") + name.name
                        options.updateValue(values, forKey: option)
                    }
                }
                return ShellVocabulary.Command(name: commandName, aliases: aliases ?? [], options: options)
            }
        }
        let command: Command
    }
}

// MARK: Words

extension ShellVocabulary {
    /// The names of peripherals that identify one, and otherwise their addresses.
    ///
    /// A name that contains what a terminal could take for a command is not shown, and therefore not completed. Neither
    /// is one that a line cannot contain, such as a name whose first character combines with the quote before it.
    var peripheralWords: [String] {
        let names = peripherals.compactMap(\.name).reduce(into: [:]) { $0[$1.lowercased(), default: 0] += 1 }
        return peripherals.map { peripheral in
            guard let name = peripheral.name, !name.isEmpty, name == name.harmless, names[name.lowercased()] == 1,
                (try? ShellWords.split("use " + ShellWords.quoted(name))) == ["use", name]
            else { return peripheral.id.rawValue }
            return name
        }
    }

    /// The same, with the address in place of a name that is not plain (``isPlain(_:)``).
    var plainPeripheralWords: [String] {
        zip(peripheralWords, addresses).map { word, address in Self.isPlain(word) ? word : address }
    }

    /// Whether a word has only letters and digits of ASCII, `.`, `_`, `:` and `-`, which it does not begin with.
    ///
    /// The user's own shell evaluates other words that are completed: any device can be called `$(reboot)`.
    static func isPlain(_ word: String) -> Bool {
        !word.isEmpty && !word.hasPrefix("-")
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: ":"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    var addresses: [String] { peripherals.map(\.id.rawValue) }

    /// Returns the characteristics as `CharacteristicArgument` reads them: those of the peripheral if they are known,
    /// otherwise those of the SIG and of vendors.
    ///
    /// - Parameter properties: those of which a characteristic of the peripheral has at least one.
    func attributeWords(having properties: CharacteristicProperties) -> [String] {
        guard let database else { return Self.names(.characteristic, in: catalog) }
        return numbered(database).filter { !$0.0.properties.isDisjoint(with: properties) }.map(\.1)
    }

    /// Returns the UUIDs and handles of the peripheral's characteristics that have one of the properties, and of its
    /// descriptors, if those can be read or written.
    func attributeNumbers(having properties: CharacteristicProperties) -> [String] {
        guard let database else { return [] }
        return database.joined().flatMap { characteristic in
            let isWanted = !characteristic.properties.isDisjoint(with: properties)
            return (isWanted ? [characteristic.uuid.description, handle(characteristic.handle)] : [])
                + characteristic.descriptors.filter { Self.mayHave(properties, $0) }.map { handle($0.handle) }
        }
    }

    /// Whether a descriptor may be read or written. The system writes the client characteristic configuration.
    private static func mayHave(_ properties: CharacteristicProperties, _ descriptor: GATTDescriptor) -> Bool {
        properties.contains(.read) || properties.contains(.write) && descriptor.uuid != BluetoothUUID(0x2902)
    }

    private func handle(_ handle: UInt16) -> String {
        "0x" + Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)])
    }

    /// Returns the characteristics with their names, or their UUIDs. Those after the first of a type have a number.
    private func numbered(_ database: GATTDatabase) -> [(GATTCharacteristic, String)] {
        var counts: [BluetoothUUID: Int] = [:]
        return database.joined().map { characteristic in
            let count = counts[characteristic.uuid, default: 0] + 1
            counts[characteristic.uuid] = count
            let name = characteristic.uuid.name(in: catalog).map(commandLineName)
            // A name that stands for another type would read that.
            let word = name.flatMap { catalog.characteristic($0) == characteristic.uuid ? $0 : nil }
            return (characteristic, (word ?? characteristic.uuid.description) + (count == 1 ? "" : "#\(count)"))
        }
    }

    var serviceWords: [String] {
        database?.map { ServiceArgument.text($0.uuid, in: catalog) } ?? Self.names(.service, in: catalog)
    }

    static func names(_ kind: AssignedNumber.Kind, in catalog: Catalog = .shown) -> [String] {
        let all = AssignedNumbers.all(kind) + catalog.entries.filter { $0.kind == kind }
        return all.map { commandLineName($0.name) }.filter { !$0.isEmpty }
    }
}
