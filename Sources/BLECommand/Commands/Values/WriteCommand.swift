import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions

struct WriteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "write", abstract: "Write a characteristic or a descriptor.",
        discussion: """
            The value is shown as it was written, in hexadecimal and decoded. Examples:

            ble write Lamp ff01 1e
            ble write Sensor temperature 21.5
            ble write Lamp ff01 --uint16 300
            """)

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    @Argument(
        help: CharacteristicArgument.helpWithDescriptor, completion: .characteristics,
        transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    @OptionGroup var value: WrittenValue

    @Flag(help: "Do not wait for the peripheral's response.")
    var withoutResponse = false

    func validate() throws {
        guard !withoutResponse || characteristic.descriptor == nil else {
            throw ValidationError("A descriptor is always written with response.")
        }
        try value.check(for: characteristic)
    }

    func run() async throws {
        let (id, characteristic, timeout) = (id, characteristic, options.timeoutDuration)
        let (text, given) = (value.typedText, try await value.bytes())
        let type: WriteType = withoutResponse ? .withoutResponse : .withResponse
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let (attribute, value) = try await output.progress.during(
                "Writing \(characteristic.title) of \(peripheral)"
            ) {
                let attribute = try await characteristic.attribute(on: peripheral)
                // After the write, the peripheral may end the link.
                let format = await attribute.format(on: peripheral)
                let bytes =
                    try text.map { text throws(BLEError) in
                        try attribute.parse(text, format) { (format, text) throws(BLEError) in
                            try format.encode(text: text)
                        }
                    } ?? given
                try await attribute.write(bytes, to: peripheral, type: type)
                return (attribute, ShownValue(bytes, format, guessing: false))
            }
            let count = value.bytes.count
            let json = value.json.filter { ["value", "decoded"].contains($0.key) }
            try output.about(peripheral).line(
                .object(json.merging(attribute.json) { $1 }),
                "wrote \(count) \(count == 1 ? "byte" : "bytes")" + (count > 0 ? ": \(value.text(output))" : ""))
        }
    }
}
