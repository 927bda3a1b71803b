import ArgumentParser
import BLE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

struct ShellCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shell", abstract: "Enter commands that share one link.",
        discussion: """
            With ID, or after the command use, a link is held, and commands need no ID: read battery-level. Without \
            ID after their names, they use the held link; with one, another peripheral. help lists the commands. \
            Ctrl-C ends a command, and exit or Ctrl-D the shell. If standard input is not a terminal, this is the same \
            as ble run -.

            A line is divided at spaces; 'text', "text" and a backslash keep them, and # starts a comment. With the \
            trait LineEditing, lines can be edited, the Tab key completes commands, options, names, addresses and \
            UUIDs, and earlier lines are kept in ~/.local/state/ble/history, except those that begin with a space.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    func run() async throws {
        guard isatty(STDIN_FILENO) != 0 else { return try await Shell.run(options, id, script: "-") }
        try await Shell.run(options, id, isInteractive: true, asks: true) { shell in
            try await shell.converse(with: Self.makeReader())
        }
    }

    private static func makeReader() -> any LineReader {
        #if LineEditing
            if isatty(STDERR_FILENO) != 0, !Terminal.isDumb, let editor = LineEditor(ShellHistory.ofUser()) {
                return editor
            }
        #endif
        return PlainReader()
    }
}
