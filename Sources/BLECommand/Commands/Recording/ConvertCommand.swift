import ArgumentParser
import BLE
import BLERecording

struct ConvertCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "convert", abstract: "Convert a recording, and take out what is private.",
        discussion: """
            Reads a recording (--record) or a btsnoop capture (btmon -w, or Android's log), and writes a recording, or \
            a btsnoop capture for Wireshark if the name of the new file ends in .btsnoop.
            """)

    enum Redacted: String, ExpressibleByArgument, CaseIterable {
        case addresses, names, values, all

        var option: Redaction {
            switch self {
            case .addresses: .addresses
            case .names: .names
            case .values: .values
            case .all: .all
            }
        }
    }

    @Option(
        help: ArgumentHelp("What to replace: addresses, names, values or all. May be repeated.", valueName: "kind"))
    var redact: [Redacted] = []

    @Argument(help: "The file to read.")
    var input: String

    @Argument(help: "The file to write.")
    var file: String

    func run() async throws {
        try await Session.finish(Output(json: false)) {
            let recording = try RecordingFile.read(input)
            try RecordingFile.write(
                redact.isEmpty ? recording : recording.redacted(Redaction(redact.map(\.option))), to: file)
        }
    }
}
