import ArgumentParser
import BLE

/// A line of `ble shell` and `ble run`: a command.
struct ShellLine: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "", abstract: "The commands of ble shell and ble run.",
        discussion: """
            While a link is held, commands use it unless an ID follows their names. Options such as --backend belong \
            to ble shell and ble run. help COMMAND describes a command.
            """,
        subcommands: [
            UseLine.self, DisconnectLine.self, ScanCommand.self, InspectCommand.self, ReadCommand.self,
            WriteCommand.self, NotifyCommand.self, ExpectCommand.self, ChannelCommand.self, SendCommand.self,
            ProfileCommand.self, HeartRateCommand.self, BatteryCommand.self, InfoCommand.self, PairCommand.self,
            UnpairCommand.self, AdaptersCommand.self, DoctorCommand.self, NumbersCommand.self,
        ] + deviceCommands + [SleepLine.self, ExitLine.self],
        helpNames: .long)

    #if DeviceCommands
        private static let deviceCommands: [any ParsableCommand.Type] = [UpdateCommand.self]
    #else
        private static let deviceCommands: [any ParsableCommand.Type] = []
    #endif
}

/// Holds a link, or shows the one that is held.
struct UseLine: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Hold the link to a peripheral; without ID, show the one that is held.",
        discussion: "A link that was held before is ended. If the link is lost, the next command connects again.",
        aliases: ["connect"])

    @Argument(help: idHelp)
    var id: String?
}

/// Ends the link that is held.
struct DisconnectLine: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect", abstract: "End the link that is held.")
}

/// Waits.
struct SleepLine: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "sleep", abstract: "Wait, and keep the link.")

    @Argument(help: "The number of seconds.")
    var seconds: Double

    func validate() throws {
        guard seconds >= 0, seconds <= 86_400 else {
            throw ValidationError("The number of seconds is from 0 to 86400.")
        }
    }
}

/// Ends the shell or the script.
struct ExitLine: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exit", abstract: "End the shell, or the script, with exit status 0.", aliases: ["quit"])
}
