import ArgumentParser
import BLE
import BLEDefinitions
import BLEProfiles

struct HeartRateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heart-rate", abstract: "Show the measurements of a heart rate sensor as they arrive.",
        discussion: "With --count, it also ends, with an error, when no measurement comes for --timeout.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption
    @OptionGroup var time: TimeLimit

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    @Option(help: ArgumentHelp("End after this number of measurements.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, count, timeout, maintain) = (id, count, options.timeoutDuration, maintain)
        let silence = time.silence(count: count, maintain, options)
        try await Session.run(options, outage: maintain.outage, limit: time.limit) { central, output in
            let finder = Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain)
            let sensor = try await finder.find(id, offering: .heartRate)
            let output = output.about(sensor)
            try await maintain.apply(to: sensor)
            let measurements = try await output.progress.during("Connecting to \(sensor)") {
                try await HeartRate(sensor).measurements()
            }
            try await ReceivedValues().during(silence, of: sensor, wanted: count) { received in
                for try await event in measurements.events {
                    guard case .value(let measurement) = event else {
                        if case .gap(let error) = event { try output.gap(error) }
                        continue
                    }
                    // Before it is shown: who sees it may let the time of the silence pass.
                    let number = received.add()
                    try output.line(Self.json(measurement), measurement.description)
                    if number == count { break }
                }
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
