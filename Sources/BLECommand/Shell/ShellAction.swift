import ArgumentParser
import BLE
import BLEAssignedNumbers

/// What a line of the shell does.
enum ShellAction: Equatable, Sendable {
    /// Holds the link to a peripheral. Nil to show which link is held.
    case use(String?)
    case disconnect
    case sleep(Duration)
    case exit
    /// Runs a command of `ble` with these arguments.
    case command([String])

    /// What an argument of a command is.
    enum Place: Equatable, Sendable {
        case peripheral
        /// A characteristic with one of these properties, or a descriptor for which they stand.
        case attribute(CharacteristicProperties)
        case service
        case command
        case file
    }

    /// The arguments of the commands that have any to complete, in their order.
    static let places: [String: [Place]] = [
        "use": [.peripheral], "connect": [.peripheral], "inspect": [.peripheral],
        "read": [.peripheral, .attribute([.read])],
        "write": [.peripheral, .attribute([.write, .writeWithoutResponse])],
        "expect": [.peripheral, .attribute([.read, .notify, .indicate])],
        "notify": [.peripheral, .attribute([.notify, .indicate])], "send": [.peripheral, .file],
        "update": [.peripheral, .file], "channel": [.peripheral],
        "profile": [.service, .peripheral], "heart-rate": [.peripheral], "battery": [.peripheral],
        "info": [.peripheral], "pair": [.peripheral], "unpair": [.peripheral], "help": [.command],
    ]

    /// The options that belong to the shell, because its central is already there.
    static let sessionOptions =
        CommonOptions.valued.filter { $0 != "--timeout" } + ["--management-socket", "--verbose"]

    /// Creates the action of a line. Throws what the argument parser throws, with `ShellLine` as the root.
    ///
    /// - Parameters:
    ///   - words: the words of the line, of which there is at least one.
    ///   - held: the id of the peripheral whose link is held. It takes the place of an argument that is not given.
    init(_ words: [String], held: Peripheral.ID?) throws {
        try Self.checkName(words)
        try Self.checkOptions(words)
        let (arguments, command) = try Self.parse(words, held)
        switch command {
        case let use as UseLine: self = .use(use.id)
        case is DisconnectLine: self = .disconnect
        case let sleep as SleepLine: self = .sleep(.milliseconds(Int64(sleep.seconds * 1000)))
        case is ExitLine: self = .exit
        default: self = .command(arguments)
        }
    }

    private static func parse(
        _ words: [String], _ held: Peripheral.ID?
    ) throws -> (arguments: [String], command: any ParsableCommand) {
        let name = words[0]
        guard let held, !["use", "connect", "help"].contains(name), let places = places[name],
            words.count == 1 || !Peripheral.ID(rawValue: words[1]).isAddress
        else { return (words, try ShellLine.parseAsRoot(words)) }
        var completed = words
        completed.insert(held.rawValue, at: places.first == .peripheral ? 1 : words.count)
        do {
            return (completed, try ShellLine.parseAsRoot(completed))
        } catch {
            // The line may have an ID of its own. If it is wrong in any case, the error is that of the shorter form.
            guard let command = try? ShellLine.parseAsRoot(words), ShellLine.exitCode(for: error) != .success else {
                throw error
            }
            return (words, command)
        }
    }

    private static func checkName(_ words: [String]) throws {
        let isHelp = words[0] == "help"
        guard let name = isHelp ? words.dropFirst().first : words[0], !name.hasPrefix("-") else { return }
        let names = ShellVocabulary.commands.flatMap { [$0.name] + $0.aliases }
        guard !names.contains(name), name != "help" else { return }
        guard !BLECommand.configuration.subcommands.contains(where: { $0.configuration.commandName == name }) else {
            throw ValidationError("\(name) is not a command of the shell. Outside of it: ble \(name).")
        }
        let meant = Suggestion.nearest(to: name, in: names).map { " Did you mean \($0)?" } ?? ""
        throw ValidationError("There is no command \"\(name.excerpt)\".\(meant) help lists all.")
    }

    private static func checkOptions(_ words: [String]) throws {
        let options = words.dropFirst().prefix { $0 != "--" }
        func given(_ names: [String]) -> String? {
            names.first { name in options.contains { $0 == name || $0.hasPrefix("\(name)=") } }
        }
        switch words[0] {
        case "doctor": return
        case "numbers" where given(["--vendor"]) == nil: return
        case "channel" where given(["--listen"]) != nil:
            throw ValidationError("--listen serves, and needs no link. Outside of the shell: ble channel --listen.")
        case "pair" where given(["--capability"]) != nil:
            throw ValidationError("The shell has one capability. Outside of it: ble pair --capability.")
        default: break
        }
        let own = CommonOptions.given(in: Array(words.dropFirst())).first { sessionOptions.contains($0.name) }
        guard let option = own?.words.first?.split(separator: "=").first else { return }
        throw ValidationError("\(option) belongs to the shell itself: ble shell \(option) …")
    }
}
