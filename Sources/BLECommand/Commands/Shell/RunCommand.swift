import ArgumentParser
import BLE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the commands of a file, which share one link.",
        discussion: """
            The commands are those of ble shell, one on a line. The first one that fails ends the script, with its \
            exit status, and its line is named on standard error. A script can begin with: #!/usr/bin/env -S ble run.

            With - as the script, commands are read from standard input as they arrive, also from another program; \
            channel then takes the lines after it as its packets. Questions of a pairing are asked on the terminal, \
            if standard input is one; otherwise, pairing uses Just Works.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: "A file of commands, or - for standard input.", completion: .file())
    var script: String

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    @Flag(name: .customLong("continue"), help: "Go on after a failure, and end with the first one's status.")
    var continues = false

    func run() async throws {
        let asks = script != "-" && isatty(STDIN_FILENO) != 0
        try await Shell.run(options, id, script: script, continues: continues, asks: asks)
    }
}
