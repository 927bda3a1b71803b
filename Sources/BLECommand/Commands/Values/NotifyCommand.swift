import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Show a characteristic's notifications or indications as they arrive.",
        discussion: "With --count, it also ends, with an error, when no value comes for --timeout.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption
    @OptionGroup var time: TimeLimit
    @OptionGroup var values: ValueOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Argument(
        help: CharacteristicArgument.help, completion: .characteristics,
        transform: CharacteristicArgument.characteristic(named:))
    var characteristic: CharacteristicArgument

    @Option(help: ArgumentHelp("End after this number of values.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, characteristic, count, timeout) = (id, characteristic, count, options.timeoutDuration)
        let (maintain, guesses) = (maintain, values.guess)
        let silence = time.silence(count: count, maintain, options)
        try await Session.run(options, outage: maintain.outage, limit: time.limit) { central, output in
            let peripheral = try await Finder(
                central: central, output: output, timeout: timeout, isPatient: maintain.maintain
            ).find(id, byWords: true)
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
                "subscribed to \(uuid.name(in: .shown) ?? uuid.description); waiting for values (Ctrl-C ends)")
            try await ReceivedValues().during(silence, of: peripheral, wanted: count) { received in
                for try await event in values.events {
                    guard case .value(let bytes) = event else {
                        if case .gap(let error) = event { try output.gap(error) }
                        continue
                    }
                    // Before it is shown: who sees it may let the time of the silence pass.
                    let number = received.add()
                    let dropped = values.droppedCount
                    let value = ShownValue(bytes, format, guessing: guesses)
                    let keys: [String: JSON] = ["uuid": .string(uuid.description), "dropped": .int(dropped)]
                    try output.line(
                        .object(value.json.merging(keys) { $1 }),
                        value.text(output) + (dropped > 0 ? "  (\(dropped) dropped)" : ""))
                    if number == count { break }
                }
            }
        }
    }
}
