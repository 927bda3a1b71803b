import ArgumentParser
import BLE
import BLEDefinitions
import BLERecording

struct DiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Show what differs between two recordings.",
        discussion: """
            The order of what concerns one peripheral counts. Times, handles, signal strengths and how often the same \
            is advertised do not. Exit status 1: there is a difference.
            """)

    enum Ignored: String, ExpressibleByArgument, CaseIterable {
        case advertisements, values, notifications

        var option: IgnoredDifferences {
            switch self {
            case .advertisements: .advertisements
            case .values: .values
            case .notifications: .notifications
            }
        }
    }

    @Option(
        help: ArgumentHelp(
            "What does not count: advertisements, values (their bytes) or notifications. May be repeated.",
            valueName: "kind"))
    var ignore: [Ignored] = []

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    @Argument(help: "The earlier recording, made with --record, or a btsnoop capture.")
    var old: String

    @Argument(help: "The later one.")
    var new: String

    func run() async throws {
        let output = Output(json: json)
        try await Session.finish(output) {
            let (earlier, later) = (try RecordingFile.read(old), try RecordingFile.read(new))
            let ignored = IgnoredDifferences(ignore.map(\.option))
            let differences = later.differences(from: earlier, ignoring: ignored)
            for difference in differences {
                try output.line(
                    .object([
                        "added": .bool(difference.isAdded), "id": .optional(difference.peripheral?.rawValue),
                        "at": .double(difference.time / .seconds(1)), "text": .string(difference.text),
                    ]),
                    output.paint(difference.description.harmless, difference.isAdded ? .green : .red))
            }
            if !differences.isEmpty { throw ExitCode(ExitStatus.somethingIsWrong) }
        }
    }
}
