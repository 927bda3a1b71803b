import ArgumentParser
import BLE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The command `ble`: Bluetooth LE from the command line.
@main
struct BLECommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ble",
        abstract: "Bluetooth LE from the command line.",
        discussion: """
            ID is a device address, or the beginning of the name of exactly one peripheral in range. Without ID, the \
            first peripheral that offers the service is used. A UUID has 16, 32 or 128 bits, or is the SIG's name, \
            such as battery-level. Data goes to standard output, everything else to standard error.

            ble help \(Invocation.statuses) lists the exit statuses. Completions for the shell: \
            ble --generate-completion-script bash > ~/.local/share/bash-completion/completions/ble
            """,
        version: Central.version,
        subcommands: [
            AdaptersCommand.self, RadiosCommand.self, DoctorCommand.self, ScanCommand.self, InspectCommand.self,
            ReadCommand.self, WriteCommand.self,
            NotifyCommand.self, ExpectCommand.self, ChannelCommand.self, SendCommand.self, ConnectCommand.self,
            ProfileCommand.self,
            HeartRateCommand.self,
            BatteryCommand.self,
            InfoCommand.self,
            PairCommand.self, UnpairCommand.self, ServeCommand.self, AdvertiseCommand.self, FakeCommand.self,
            RecordCommand.self, DiffCommand.self, ConvertCommand.self, NumbersCommand.self, ShellCommand.self,
            RunCommand.self,
        ] + deviceCommands + gatewayCommands + webCommands)

    /// The commands that require swift-crypto, which takes longer to build than everything else.
    #if DeviceCommands
        private static let deviceCommands: [any ParsableCommand.Type] = [
            UpdateCommand.self, DevicesCommand.self, ProxyCommand.self, DemoCommand.self,
        ]
    #else
        private static let deviceCommands: [any ParsableCommand.Type] = []
    #endif

    /// The commands that require libmosquitto and SQLite.
    #if Gateway
        private static let gatewayCommands: [any ParsableCommand.Type] = [GatewayCommand.self, HistoryCommand.self]
    #else
        private static let gatewayCommands: [any ParsableCommand.Type] = []
    #endif

    /// The command that serves a page.
    #if Web
        private static let webCommands: [any ParsableCommand.Type] = [WebCommand.self]
    #else
        private static let webCommands: [any ParsableCommand.Type] = []
    #endif

    /// The names of the commands, with the names of their subcommands.
    private static var names: [String: [String]] {
        configuration.subcommands.reduce(into: [:]) { names, command in
            guard let name = command.configuration.commandName else { return }
            names[name] = command.configuration.subcommands.compactMap { $0.configuration.commandName }
        }
    }

    /// Runs the command, and ends the process.
    static func main() async {
        var running: (any ParsableCommand.Type)?
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            let invocation = try Invocation(arguments, commands: names)
            guard !invocation.asksForStatuses else { return print(ExitStatus.table) }
            let vendors = try await VendorFiles(of: invocation.arguments)
            try await VendorFiles.$current.withValue(vendors) {
                let command = try await asyncParseAsRoot(invocation.arguments)
                running = type(of: command)
                try await perform(command)
            }
        } catch {
            end(with: error, of: running)
        }
    }

    /// Runs a command, which need not be asynchronous.
    static func perform(_ command: sending any ParsableCommand) async throws {
        var command = command
        if var asynchronous = command as? any AsyncParsableCommand {
            try await asynchronous.run()
        } else {
            try command.run()
        }
    }

    /// Ends the process with the exit status of the error.
    ///
    /// - Parameter running: the command that was running. Nil if there is none, because its arguments are wrong.
    private static func end(with error: any Error, of running: (any ParsableCommand.Type)?) -> Never {
        let code = exitCode(for: error)
        // Help, the version, and statuses whose reason was already written.
        guard code != .success, !(error is ExitCode) else { exit(withError: error) }
        var text = fullMessage(for: error)
        if let running, error is ValidationError {
            text = "Error: \(message(for: error))\nUsage: \(usageString(for: running))"
        }
        Progress.write(Terminal.fitting(text.harmlessLines, indent: 7) + "\n")
        Glibc.exit(code.rawValue)
    }
}
