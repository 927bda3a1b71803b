import ArgumentParser
import BLEBlueZ

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Find out why Bluetooth does not work here, and what helps.",
        discussion: """
            Looks at the bus, bluetoothd, this user's permission, adapters, kill switches, scanning, links and what else \
            bluetoothd offers. Changes nothing, but starts and stops a scan. Exit status 1: something is wrong.
            """)

    @Option(help: ArgumentHelp("The bus that bluetoothd is on; by default the system bus.", valueName: "address"))
    var bus: String?

    @Flag(inversion: .prefixedNo, help: "Try a scan.")
    var scan = true

    @Option(help: ArgumentHelp("The longest that bluetoothd may take for each answer.", valueName: "seconds"))
    var timeout = 5.0

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    func validate() throws { _ = try CommonOptions.duration(timeout) }

    func run() async throws {
        let output = Output(json: json)
        let timeout = try CommonOptions.duration(timeout)
        let findings = await output.progress.during("Examining") {
            await Doctor.examine(bus: bus, scans: scan, timeout: timeout)
        }
        for finding in findings {
            try output.line(
                .object([
                    "check": .string(finding.check.rawValue), "level": .string(finding.level.rawValue),
                    "adapter": .optional(finding.adapter) { .string($0) }, "message": .string(finding.message),
                    "remedy": .optional(finding.remedy) { .string($0) },
                ]),
                Self.text(finding, output))
        }
        if findings.contains(where: { $0.level == .problem }) { throw ExitCode(ExitStatus.somethingIsWrong) }
    }

    private static func text(_ finding: Finding, _ output: Output) -> String {
        let (word, style): (String, Output.Style) =
            switch finding.level {
            case .ok: ("ok", .green)
            case .note: ("note", .bold)
            case .problem: ("WRONG", .red)
            }
        let place = finding.adapter.map { "\($0): " } ?? ""
        var text = "\(output.paint(word.padded(to: 5), style))  \(place)\(finding.message.harmless)"
        if let remedy = finding.remedy { text += "\n       → \(remedy.harmless)" }
        return text
    }
}
