import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import BLEProfiles

struct InspectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show a peripheral's services, characteristics and descriptors.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var valueOptions: ValueOptions

    @Flag(
        help: """
            Read all readable characteristics and all descriptors, and show their values. If one requires a paired \
            link, the system pairs.
            """)
    var values = false

    @Argument(help: idHelp, completion: .peripherals)
    var id: String

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        let (readsValues, guesses) = (values, valueOptions.guess)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, byWords: true)
            let database = try await output.progress.during("Connecting to \(peripheral)") {
                try await peripheral.services()
            }
            let values: [UInt16: Read] =
                readsValues ? try await Self.read(database, of: peripheral, guessing: guesses, output) : [:]
            try output.about(peripheral).line(
                .object(["services": .array(database.map { Self.json($0, values) })]),
                database.map { Self.text($0, values, Self.numbers(in: database), output) }.joined(separator: "\n"))
        }
    }

    /// The result of reading an attribute.
    private typealias Read = Result<ShownValue, BLEError>

    /// Returns the values of all readable characteristics, and of all descriptors, by handle.
    private static func read(
        _ database: GATTDatabase, of peripheral: Peripheral, guessing: Bool, _ output: Output
    ) async throws -> [UInt16: Read] {
        var values: [UInt16: Read] = [:]
        for characteristic in database.joined() {
            var attributes = characteristic.descriptors.map { descriptor in
                (
                    descriptor.handle,
                    CharacteristicArgument.Attribute(
                        key: characteristic.key, descriptor: (descriptor.uuid, descriptor.handle))
                )
            }
            if characteristic.properties.contains(.read) {
                attributes.insert((characteristic.handle, .init(key: characteristic.key)), at: 0)
            }
            for (handle, attribute) in attributes {
                // Without this check, reading would connect again, after which handles may have changed.
                try await requireLink(to: peripheral)
                let uuid = attribute.descriptor?.uuid ?? characteristic.uuid
                values[handle] = try await output.progress.during("Reading \(uuid)") {
                    try await Read(of: peripheral) { () throws(BLEError) in
                        let bytes = try await attribute.read(of: peripheral)
                        return ShownValue(bytes, await attribute.format(on: peripheral), guessing: guessing)
                    }
                }
                try Task.checkCancellation()
            }
        }
        return values
    }

    private static func requireLink(to peripheral: Peripheral) async throws(BLEError) {
        guard await peripheral.connectionState == .connected else {
            var error = BLEError(.disconnected, "the link ended before all values were read")
            error.peripheral = peripheral.id
            throw error
        }
    }

    private static func json(_ service: GATTService, _ values: [UInt16: Read]) -> JSON {
        .object([
            "uuid": .string(service.uuid.description),
            "name": .optional(service.uuid.name(in: .shown)) { .string($0) },
            "handle": .int(Int(service.handle)),
            "primary": .bool(service.isPrimary),
            "characteristics": .array(service.characteristics.map { .object(json($0, values)) }),
        ])
    }

    /// Returns the JSON of a characteristic, including the keys of its value if it was read.
    private static func json(_ characteristic: GATTCharacteristic, _ values: [UInt16: Read]) -> [String: JSON] {
        let keys: [String: JSON] = [
            "uuid": .string(characteristic.uuid.description),
            "name": .optional(characteristic.uuid.name(in: .shown)) { .string($0) },
            "handle": .int(Int(characteristic.handle)),
            "properties": .array(names(characteristic.properties).map { .string($0) }),
            "descriptors": .array(
                characteristic.descriptors.map {
                    .object(
                        adding(
                            values[$0.handle],
                            to: [
                                "uuid": .string($0.uuid.description),
                                "name": .optional($0.uuid.name(in: .shown)),
                                "handle": .int(Int($0.handle)),
                            ]))
                }),
        ]
        return adding(values[characteristic.handle], to: keys)
    }

    private static func adding(_ value: Read?, to keys: [String: JSON]) -> [String: JSON] {
        switch value {
        case .success(let value): keys.merging(value.json) { $1 }
        case .failure(let error): keys.merging(ShownValue.json(error)) { $1 }
        case nil: keys
        }
    }

    private static func names(_ properties: CharacteristicProperties) -> [String] {
        CharacteristicProperties.names.filter { properties.contains($0.property) }.map(\.name)
    }

    /// Returns the numbers of characteristics whose type occurs more than once, such as 2 for `2a19#2`, by handle.
    private static func numbers(in database: GATTDatabase) -> [UInt16: Int] {
        let groups = Dictionary(grouping: database.joined(), by: \.uuid).values.filter { $0.count > 1 }
        return Dictionary(
            uniqueKeysWithValues: groups.flatMap { $0.enumerated().map { ($0.element.handle, $0.offset + 1) } })
    }

    private static func text(
        _ service: GATTService, _ values: [UInt16: Read], _ numbers: [UInt16: Int], _ output: Output
    ) -> String {
        var lines = [line(0, service.handle, service.uuid, output.paint("service", .bold))]
        for characteristic in service.characteristics {
            lines.append(
                line(
                    1, characteristic.handle, characteristic.uuid, number: numbers[characteristic.handle],
                    names(characteristic.properties).joined(separator: " ")
                        + (values[characteristic.handle].map { "  " + text($0, output) } ?? "")))
            for descriptor in characteristic.descriptors {
                lines.append(
                    line(
                        2, descriptor.handle, descriptor.uuid,
                        "descriptor" + (values[descriptor.handle].map { "  " + text($0, output) } ?? "")))
            }
        }
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: Read, _ output: Output) -> String {
        switch value {
        case .success(let value): value.text(output)
        case .failure(let error): output.paint("(\(error.message.harmless))", .red)
        }
    }

    private static func line(
        _ depth: Int, _ handle: UInt16, _ uuid: BluetoothUUID, number: Int? = nil, _ rest: String
    ) -> String {
        let digits = Hex.string([UInt8(handle >> 8), UInt8(handle & 0xFF)])
        let counted = "\(uuid)" + (number.map { "#\($0)" } ?? "")
        return "\(digits)  \(String(repeating: "  ", count: depth))\(counted) \(uuid.name(in: .shown) ?? "")  \(rest)"
    }
}
