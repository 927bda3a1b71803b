import ArgumentParser
import BLE

struct WriteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "write", abstract: "Write a characteristic.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.help, transform: CharacteristicArgument.init(named:))
    var characteristic: CharacteristicArgument

    @Argument(help: ArgumentHelp("The value in hexadecimal.", valueName: "hex"))
    var value: HexArgument

    @Flag(help: "Do not wait for the peripheral's answer.")
    var withoutResponse = false

    func run() async throws {
        let (id, characteristic, bytes, timeout) = (id, characteristic, value.bytes, options.timeoutDuration)
        let type: WriteType = withoutResponse ? .withoutResponse : .withResponse
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let uuid = characteristic.uuid
            try await output.progress.during("Writing \(uuid) of \(peripheral)") {
                try await peripheral.write(bytes, to: characteristic.key(on: peripheral).bytes, type: type)
            }
            try output.about(peripheral).line(
                .object(["uuid": .string(uuid.description), "value": .hex(bytes)]), "wrote \(bytes.count) bytes")
        }
    }
}
