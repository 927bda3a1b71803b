import ArgumentParser
import BLE
import BLEBlueZ
import BLEDefinitions

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Find out why Bluetooth does not work, and suggest remedies.",
        discussion: """
            Examines the bus, bluetoothd, this user's permission, adapters, kill switches, scanning, links and the \
            other features of bluetoothd. Changes nothing, but starts and stops a scan. Exit status 1: something is \
            wrong.
            """)

    @Option(help: "Only bluez can be examined; the simulated backend has nothing that could fail.")
    var backend = BackendName.bluez

    @Option(help: ArgumentHelp("The bus that bluetoothd is on; by default the system bus.", valueName: "address"))
    var bus: String?

    @Flag(inversion: .prefixedNo, help: "Test a scan.")
    var scan = true

    @Option(help: ArgumentHelp("The maximum time for each answer of bluetoothd.", valueName: "seconds"))
    var timeout = 5.0

    @Flag(help: "JSON Lines instead of text.")
    var json = false

    @Flag(name: .shortAndLong, help: "Accepted for consistency with other commands, without effect.")
    var verbose: Int

    func validate() throws {
        _ = try CommonOptions.duration(timeout)
        guard backend == .bluez else {
            throw ValidationError(
                "The doctor examines bluetoothd and this machine, which the simulated backend does not use: "
                    + "remove --backend."
            )
        }
    }

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
