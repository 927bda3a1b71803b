import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import BLEProfiles

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show a peripheral's device information.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp, completion: .peripherals)
    var id: String?

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, offering: .deviceInformation)
            let information = try await output.progress.during("Reading \(peripheral)") {
                try await DeviceInformation(of: peripheral) { error in
                    output.note("\(error.characteristic?.name ?? "an item"): \(error.message)")
                }
            }
            let rows = Self.rows(information)
            try output.about(peripheral).line(
                .object(Dictionary(uniqueKeysWithValues: rows.map { ($0.key, .optional($0.value) { .string($0) }) })),
                rows.compactMap { row in row.value.map { row.title.padded(to: 18) + $0.harmless } }.joined(
                    separator: "\n"))
        }
    }

    private static func rows(_ information: DeviceInformation) -> [(key: String, title: String, value: String?)] {
        let systemID = information.systemID.map { "\($0)" }
        let pnpID = information.pnpID.map { "\($0)" }
        return [
            ("manufacturer", "Manufacturer", information.manufacturerName),
            ("model", "Model", information.modelNumber),
            ("serialNumber", "Serial number", information.serialNumber),
            ("hardwareRevision", "Hardware revision", information.hardwareRevision),
            ("firmwareRevision", "Firmware revision", information.firmwareRevision),
            ("softwareRevision", "Software revision", information.softwareRevision),
            ("systemID", "System ID", systemID), ("pnpID", "PnP ID", pnpID),
            (
                "regulatoryCertifications", "Certifications",
                information.regulatoryCertifications.map { Hex.string($0) }
            ), ("udi", "UDI", information.udi?.deviceIdentifier ?? information.udi?.label),
        ]
    }
}
