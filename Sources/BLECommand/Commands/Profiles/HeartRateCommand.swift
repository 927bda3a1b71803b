import ArgumentParser
import BLE
import BLEProfiles

struct HeartRateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heart-rate", abstract: "Show the measurements of a heart rate sensor as they arrive.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption

    @Argument(help: idHelp)
    var id: String?

    @Option(help: ArgumentHelp("End after this number of measurements.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, count, timeout, maintain) = (id, count, options.timeoutDuration, maintain)
        try await Session.run(options, outage: maintain.outage) { central, output in
            let finder = Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain)
            let sensor = try await finder.find(id, offering: .heartRate)
            let output = output.about(sensor)
            try await maintain.apply(to: sensor)
            let measurements = try await output.progress.during("Connecting to \(sensor)") {
                try await HeartRate(sensor).measurements()
            }
            var received = 0
            for try await event in measurements.events {
                guard case .value(let measurement) = event else {
                    if case .gap(let error) = event { try output.gap(error) }
                    continue
                }
                received += 1
                try output.line(Self.json(measurement), measurement.description)
                if received == count { break }
            }
        }
    }

    private static func json(_ measurement: HeartRateMeasurement) -> JSON {
        .object([
            "beatsPerMinute": .int(measurement.beatsPerMinute),
            "rrIntervalsSeconds": .array(measurement.rrIntervalsSeconds.map { .double($0) }),
            "contact": .optional(measurement.contact) { .bool($0) },
            "energyExpendedKilojoules": .optional(measurement.energyExpendedKilojoules) { .int($0) },
        ])
    }
}
