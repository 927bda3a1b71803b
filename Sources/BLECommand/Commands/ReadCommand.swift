import ArgumentParser
import BLE
import BLEProfiles

struct ReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "read", abstract: "Read a characteristic.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String

    @Argument(help: CharacteristicArgument.help)
    var characteristic: CharacteristicArgument

    func run() async throws {
        let (id, uuid, timeout) = (id, characteristic.uuid, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let value = try await output.progress.during("Reading \(uuid) of \(peripheral)") {
                try await peripheral.read(Characteristic(uuid))
            }
            let decoded = Decoder.decode(value, of: uuid)
            try output.line(
                .object([
                    "uuid": .string(uuid.description), "value": .hex(value),
                    "decoded": .optional(decoded) { .string($0) },
                ]),
                Hex.string(value) + (decoded.map { "  " + output.paint($0, .dim) } ?? ""))
        }
    }
}

/// A guess at what the bytes of a characteristic mean, for display only.
enum Decoder {
    static func decode(_ value: [UInt8], of uuid: BluetoothUUID) -> String? {
        switch uuid.short {
        case 0x2A19: return (try? Characteristic<UInt8>.batteryLevel.coding.decode(value)).map { "\($0) %" }
        case 0x2A37: return (try? HeartRateMeasurement(bytes: value)).map { "\($0.beatsPerMinute) bpm" }
        default: break
        }
        guard !value.isEmpty, let text = String(validating: value, as: UTF8.self),
            text.unicodeScalars.allSatisfy({ $0.properties.isPrintable })
        else { return nil }
        return text
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }
}
