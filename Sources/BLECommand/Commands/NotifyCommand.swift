import ArgumentParser
import BLE

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Show a characteristic's notifications or indications as they arrive.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.help)
    var characteristic: CharacteristicArgument

    @Option(help: ArgumentHelp("End after so many values.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, uuid, count, timeout) = (id, characteristic.uuid, count, options.timeoutDuration)
        let maintain = maintain
        try await Session.run(options, outage: maintain.outage) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            try await maintain.apply(to: peripheral)
            let values = try await output.progress.during("Connecting to \(peripheral)") {
                try await peripheral.notifications(Characteristic(uuid), overflow: .dropOldest(capacity: 4096))
            }
            var received = 0
            for try await event in values.events {
                guard case .value(let value) = event else {
                    if case .gap(let error) = event { try output.gap(error) }
                    continue
                }
                received += 1
                let dropped = values.droppedCount
                try output.line(
                    .object(["uuid": .string(uuid.description), "value": .hex(value), "dropped": .int(dropped)]),
                    Hex.string(value) + (dropped > 0 ? "  (\(dropped) dropped)" : ""))
                if received == count { break }
            }
        }
    }
}
