import ArgumentParser
import BLE
import BLEDefinitions
import BLEProfiles

struct ReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read", abstract: "Read a characteristic or a descriptor.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var values: ValueOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Argument(
        help: CharacteristicArgument.helpWithDescriptor, completion: .characteristics,
        transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    func run() async throws {
        let (id, characteristic, timeout, guesses) = (id, characteristic, options.timeoutDuration, values.guess)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, byWords: true)
            let (attribute, value) = try await output.progress.during(
                "Reading \(characteristic.title) of \(peripheral)"
            ) {
                let attribute = try await characteristic.attribute(on: peripheral)
                let bytes = try await attribute.read(of: peripheral)
                return (attribute, ShownValue(bytes, await attribute.format(on: peripheral), guessing: guesses))
            }
            try output.about(peripheral).line(
                .object(value.json.merging(attribute.json) { $1 }), value.text(output))
        }
    }
}
