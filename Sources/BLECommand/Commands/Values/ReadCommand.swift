import ArgumentParser
import BLE
import BLEProfiles

struct ReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "read", abstract: "Read a characteristic.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var values: ValueOptions

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.help, transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    func run() async throws {
        let (id, characteristic, timeout, guesses) = (id, characteristic, options.timeoutDuration, values.guess)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let uuid = characteristic.uuid
            let value = try await output.progress.during("Reading \(uuid) of \(peripheral)") {
                let key = try await characteristic.key(on: peripheral)
                let bytes = try await peripheral.read(key.bytes)
                return ShownValue(bytes, await ShownValue.format(of: key, on: peripheral), guessing: guesses)
            }
            try output.about(peripheral).line(
                .object(value.json.merging(["uuid": .string(uuid.description)]) { $1 }), value.text(output))
        }
    }
}
