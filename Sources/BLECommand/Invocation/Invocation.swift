import ArgumentParser
import BLE

/// The arguments of the tool, in the order in which they are parsed.
struct Invocation {
    /// The arguments, with the options before the command behind its name.
    let arguments: [String]
    /// Whether the exit statuses are asked for.
    let asksForStatuses: Bool

    /// The word after `help` that shows the exit statuses.
    static let statuses = "exit-status"

    /// The commands that a build may lack, for which there is a trait.
    static let deviceCommands = ["devices", "demo"]

    /// Throws `ValidationError` for a command that there is not.
    init(_ given: [String], commands: [String]) throws {
        let options = given.prefix { $0 == "--verbose" || $0.wholeMatch(of: /-v+/) != nil || $0 == "--json" }
        let rest = given.dropFirst(options.count)
        guard let name = rest.first, !name.hasPrefix("-") else {
            (arguments, asksForStatuses) = (given, false)
            return
        }
        let isHelp = name == "help"
        let topic = isHelp ? rest.dropFirst().first { !$0.hasPrefix("-") } : name
        asksForStatuses = isHelp && topic == Self.statuses
        if let topic, !asksForStatuses { try Self.check(topic, commands + ["help"]) }
        arguments = isHelp ? Array(rest) : [name] + options + rest.dropFirst()
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
