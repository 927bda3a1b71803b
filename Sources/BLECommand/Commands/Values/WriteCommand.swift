import ArgumentParser
import BLE

struct WriteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write a characteristic or a descriptor.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.helpWithDescriptor, transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    @Argument(
        help: ArgumentHelp("The value in hexadecimal, two digits for each byte.", valueName: "hex"),
        transform: HexArgument.init(hexadecimal:))
    var value: HexArgument

    @Flag(help: "Do not wait for the peripheral's response.")
    var withoutResponse = false

    func validate() throws {
        guard !withoutResponse || characteristic.descriptor == nil else {
            throw ValidationError("A descriptor is always written with response.")
        }
    }

    func run() async throws {
        let (id, characteristic, bytes, timeout) = (id, characteristic, value.bytes, options.timeoutDuration)
        let type: WriteType = withoutResponse ? .withoutResponse : .withResponse
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let attribute = try await output.progress.during("Writing \(characteristic.title) of \(peripheral)") {
                let attribute = try await characteristic.attribute(on: peripheral)
                try await attribute.write(bytes, to: peripheral, type: type)
                return attribute
            }
            try output.about(peripheral).line(
                .object(attribute.json.merging(["value": .hex(bytes)]) { $1 }),
                "wrote \(bytes.count) \(bytes.count == 1 ? "byte" : "bytes")")
        }
    }
}
