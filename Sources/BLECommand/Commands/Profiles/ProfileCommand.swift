import ArgumentParser
import BLE
import BLEProfiles

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Show all values of a service, as they change.",
        discussion: """
            Reads all readable values of the service and shows its notifications, with units. On a terminal, the \
            output is a table that is kept up to date, with a sparkline of the latest numbers; elsewhere, it is a line \
            for each value. A service without notifications is read once, or repeatedly with --every.

            With --count, it also ends, with an error, when the link does, or when no value comes for --timeout.
            """)

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption
    @OptionGroup var time: TimeLimit

    @Argument(
        help: "The service: a name such as heart-rate, or a UUID.", completion: .services,
        transform: ServiceArgument.init(named:))
    var service: ServiceArgument

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    @Option(
        help: ArgumentHelp(
            "End after this number of notified values, or, with --every and without notifications, of rounds.",
            valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("Read everything again after this number of seconds.", valueName: "seconds"))
    var every: Double?

    func validate() throws {
        try checkCount(count)
        if let every, !(every > 0 && every <= 86_400) {
            throw ValidationError("--every is a number of seconds above 0, at most 86400.")
        }
    }

    func run() async throws {
        let (id, service, count, maintain) = (id, service.uuid, count, maintain)
        let (every, timeout) = (every.map { Duration.seconds($0) }, options.timeoutDuration)
        let silence = time.silence(count: count, maintain, options)
        try await Session.run(options, outage: maintain.outage, limit: time.limit) { central, output in
            let peripheral = try await Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain
            )
            .find(id, offering: service)
            try await maintain.apply(to: peripheral)
            let view = try await output.progress.during("Connecting to \(peripheral)") {
                try await maintain.waitForLink(to: peripheral)
                return try await LiveView(of: service, on: peripheral, output.about(peripheral))
            }
            try await view.run(count: count, every: every, silence: silence, isMaintained: maintain.maintain)
        }
    }
}
