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
        let (id, uuid, timeout, guesses) = (id, characteristic.uuid, options.timeoutDuration, values.guess)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let key = CharacteristicKey(characteristic: uuid)
            let value = try await output.progress.during("Reading \(uuid) of \(peripheral)") {
                let bytes = try await peripheral.read(key)
                return ShownValue(bytes, await ShownValue.format(of: key, on: peripheral), guessing: guesses)
            }
            try output.line(
                .object(value.json.merging(["uuid": .string(uuid.description)]) { $1 }), value.text(output))
        }
    }
}
