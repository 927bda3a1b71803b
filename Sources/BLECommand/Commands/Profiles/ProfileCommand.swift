import ArgumentParser
import BLE
import BLEProfiles

struct ProfileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "profile", abstract: "Show everything that a service says, as it changes.",
        discussion: """
            Reads what the service lets be read and shows what it notifies, with units. On a terminal it is a table that changes, with \
            a sparkline of the latest numbers; elsewhere a line for each value. A service that notifies nothing is read once, \
            or again and again with --every.
            """)

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption

    @Argument(help: "The service: a name such as heart-rate, or a UUID.", transform: ServiceArgument.init(named:))
    var service: ServiceArgument

    @Argument(help: idHelp)
    var id: String?

    @Option(
        help: ArgumentHelp(
            "End after so many notified values; with --every and while nothing is notified, after so many rounds.",
            valueName: "n"))
    var count: Int?

    @Option(help: ArgumentHelp("Read everything again after so many seconds.", valueName: "seconds"))
    var every: Double?

    func validate() throws {
        try checkCount(count)
        if let every, !(every > 0 && every <= 86_400) { throw ValidationError("--every takes up to a day of seconds.") }
    }

    func run() async throws {
        let (id, service, count, maintain) = (id, service.uuid, count, maintain)
        let (every, timeout) = (every.map { Duration.seconds($0) }, options.timeoutDuration)
        try await Session.run(options, outage: maintain.outage) { central, output in
            let peripheral = try await Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain
            )
            .find(id, offering: service)
            try await maintain.apply(to: peripheral)
            let view = try await output.progress.during("Connecting to \(peripheral)") {
                try await maintain.waitForLink(to: peripheral)
                return try await LiveView(of: service, on: peripheral, output.about(peripheral))
            }
            try await view.run(count: count, every: every, isMaintained: maintain.maintain)
        }
    }
}
