import ArgumentParser
import BLE
import BLEProfiles

struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show a peripheral's services, characteristics and descriptors.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
            let database = try await output.progress.during("Connecting to \(peripheral)") {
                try await peripheral.services()
            }
            try output.line(
                .object(["services": .array(database.map(Self.json))]),
                database.map { Self.text($0, output) }.joined(separator: "\n"))
        }
    }

    private static func json(_ service: GATTService) -> JSON {
        .object([
            "uuid": .string(service.uuid.description), "handle": .int(Int(service.handle)),
            "primary": .bool(service.isPrimary),
            "characteristics": .array(
                service.characteristics.map { characteristic in
                    .object([
                        "uuid": .string(characteristic.uuid.description), "handle": .int(Int(characteristic.handle)),
                        "properties": .array(names(characteristic.properties).map { .string($0) }),
                        "descriptors": .array(
                            characteristic.descriptors.map {
                                .object(["uuid": .string($0.uuid.description), "handle": .int(Int($0.handle))])
                            }),
                    ])
                }),
        ])
    }

    private static func names(_ properties: CharacteristicProperties) -> [String] {
        CharacteristicProperties.names.filter { properties.contains($0.property) }.map(\.name)
    }

    private static func text(_ service: GATTService, _ output: Output) -> String {
        var lines = [line(0, service.handle, service.uuid, output.paint("service", .bold))]
        for characteristic in service.characteristics {
            lines.append(
                line(
                    1, characteristic.handle, characteristic.uuid,
                    names(characteristic.properties).joined(separator: " ")))
            for descriptor in characteristic.descriptors {
                lines.append(line(2, descriptor.handle, descriptor.uuid, "descriptor"))
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func line(_ depth: Int, _ handle: UInt16, _ uuid: BluetoothUUID, _ rest: String) -> String {
        let number = Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)])
        return "\(number)  \(String(repeating: "  ", count: depth))\(uuid) \(uuid.name ?? "")  \(rest)"
    }
}
