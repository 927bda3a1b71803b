import ArgumentParser
import BLE
import BLEAssignedNumbers

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Show a characteristic's notifications or indications as they arrive.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption
    @OptionGroup var values: ValueOptions

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.help, transform: CharacteristicArgument.characteristic(named:))
    var characteristic: CharacteristicArgument

    @Option(help: ArgumentHelp("End after this number of values.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, characteristic, count, timeout) = (id, characteristic, count, options.timeoutDuration)
        let (maintain, guesses) = (maintain, values.guess)
        try await Session.run(options, outage: maintain.outage) { central, output in
            let peripheral = try await Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain
            ).find(id)
            try await maintain.apply(to: peripheral)
            let output = output.about(peripheral)
            let (key, values) = try await output.progress.during("Connecting to \(peripheral)") {
                if characteristic.needsServices { try await maintain.waitForLink(to: peripheral) }
                let key = try await characteristic.key(on: peripheral)
                return (key, try await peripheral.notifications(key.bytes, overflow: .dropOldest(capacity: 4096)))
            }
            let uuid = key.characteristic
            let format = await ShownValue.format(of: key, on: peripheral)
            output.note(
                "subscribed to \(uuid.name(in: .vendors) ?? uuid.description); waiting for values (Ctrl-C ends)")
            var received = 0
            for try await event in values.events {
                guard case .value(let bytes) = event else {
                    if case .gap(let error) = event { try output.gap(error) }
                    continue
                }
                received += 1
                let dropped = values.droppedCount
                let value = ShownValue(bytes, format, guessing: guesses)
                let keys: [String: JSON] = ["uuid": .string(uuid.description), "dropped": .int(dropped)]
                try output.line(
                    .object(value.json.merging(keys) { $1 }),
                    value.text(output) + (dropped > 0 ? "  (\(dropped) dropped)" : ""))
                if received == count { break }
            }
        }
    }
}
