import ArgumentParser
import BLE
import BLEAssignedNumbers

/// The arguments of the tool, in the order in which they are parsed.
struct Invocation {
    /// The arguments, with options before the command moved behind the command's name.
    let arguments: [String]
    /// Whether the list of exit statuses is requested.
    let asksForStatuses: Bool

    /// The word after `help` that shows the exit statuses.
    static let statuses = "exit-status"

    /// The commands that a build may not contain, because they depend on a trait.
    static let deviceCommands = ["devices", "demo"]

    /// Throws `ValidationError` for a command that there is not.
    ///
    /// - Parameter commands: the commands, with the names of their subcommands.
    init(_ given: [String], commands: [String: [String]]) throws {
        var (options, rest) = Self.split(given[...])
        guard let name = rest.popFirst(), !name.hasPrefix("-") else {
            (arguments, asksForStatuses) = (given, false)
            return
        }
        let isHelp = name == "help"
        let topic = isHelp ? rest.first { !$0.hasPrefix("-") } : name
        asksForStatuses = isHelp && topic == Self.statuses
        if let topic, !asksForStatuses { try Self.check(topic, commands.keys.sorted() + ["help"]) }
        guard !isHelp, let inner = commands[name], !inner.isEmpty else {
            arguments = [name] + (isHelp ? [] : options) + rest
            return
        }
        // Options belong to the innermost command. Without a command, help is shown, which has no options.
        let (further, end) = Self.split(rest)
        options += further
        if let command = end.first, inner.contains(command) {
            arguments = [name, command] + options + end.dropFirst()
        } else {
            arguments = [name] + end
        }
    }

    /// Returns the options before a command, and the arguments after them.
    private static func split(_ given: ArraySlice<String>) -> (options: ArraySlice<String>, rest: ArraySlice<String>) {
        var rest = given
        while case let length = CommonOptions.length(at: rest), length > 0 { rest = rest.dropFirst(length) }
        return (given[..<rest.startIndex], rest)
    }

    private static func check(_ name: String, _ commands: [String]) throws {
        guard !commands.contains(name) else { return }
        guard !deviceCommands.contains(name) else {
            throw ValidationError(
                "This ble was built without the commands \(deviceCommands.joined(separator: " and ")): "
                    + "build it with the trait DeviceCommands, which is on by default.")
        }
        let meant = Suggestion.nearest(to: name, in: commands).map { " Did you mean \($0)?" } ?? ""
        throw ValidationError("There is no command \"\(name.excerpt)\".\(meant)")
    }
}
