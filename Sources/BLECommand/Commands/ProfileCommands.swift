import ArgumentParser
import BLE
import BLEProfiles

struct HeartRateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heart-rate", abstract: "Show the measurements of a heart rate sensor as they arrive.")

    @OptionGroup var options: CommonOptions
    @OptionGroup var maintain: MaintainOption

    @Argument(help: idHelp)
    var id: String?

    @Option(help: ArgumentHelp("End after so many measurements.", valueName: "n"))
    var count: Int?

    func validate() throws { try checkCount(count) }

    func run() async throws {
        let (id, count, timeout, maintain) = (id, count, options.timeoutDuration, maintain)
        try await Session.run(options, outage: maintain.outage) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let sensor = try await finder.find(id, offering: .heartRate)
            try await maintain.apply(to: sensor)
            let measurements = try await output.progress.during("Connecting to \(sensor)") {
                try await HeartRate(sensor).measurements()
            }
            var received = 0
            for try await event in measurements.events {
                guard case .value(let measurement) = event else {
                    if case .gap(let error) = event { try output.gap(error) }
                    continue
                }
                received += 1
                try output.line(Self.json(measurement), Self.text(measurement, output))
                if received == count { break }
            }
        }
    }

    private static func json(_ measurement: HeartRateMeasurement) -> JSON {
        .object([
            "beatsPerMinute": .int(measurement.beatsPerMinute),
            "rrIntervals": .array(measurement.rrIntervals.map { .double($0) }),
            "contact": .optional(measurement.contact) { .bool($0) },
            "energyExpended": .optional(measurement.energyExpendedKilojoules) { .int($0) },
        ])
    }

    private static func text(_ measurement: HeartRateMeasurement, _ output: Output) -> String {
        var parts = [output.paint("\(measurement.beatsPerMinute)".paddedLeft(to: 3), .bold) + " bpm"]
        if !measurement.rrIntervals.isEmpty {
            let intervals = measurement.rrIntervals.map { String(Int(($0 * 1000).rounded())) }
            parts.append("RR \(intervals.joined(separator: " ")) ms")
        }
        if let energy = measurement.energyExpendedKilojoules { parts.append("\(energy) kJ") }
        if measurement.contact == false { parts.append(output.paint("no contact", .red)) }
        return parts.joined(separator: "  ")
    }
}

struct BatteryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "battery", abstract: "Show the level of a peripheral's battery, or of each of several.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String?

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, offering: .battery)
            let batteries = try await output.progress.during("Reading the battery of \(peripheral)") {
                try await Self.read(peripheral)
            }
            for (index, (position, level)) in batteries.enumerated() {
                let name = position.map { "\($0)" }
                try output.line(
                    .object(["level": .int(Int(level)), "position": .optional(name) { .string($0) }]),
                    (batteries.count > 1 ? (name ?? "battery \(index + 1)").padded(to: 12) : "") + "\(level) %")
            }
        }
    }

    /// Each battery of a peripheral: which one it is, as far as that is said, and its level.
    private static func read(
        _ peripheral: Peripheral
    ) async throws(BLEError) -> [(PresentationFormat.Description?, UInt8)] {
        let batteries = try await Battery.all(on: peripheral)
        var levels: [(PresentationFormat.Description?, UInt8)] = []
        for battery in batteries { levels.append((try await position(of: battery), try await battery.level())) }
        guard !levels.isEmpty else { return [(nil, try await Battery(peripheral).level())] }
        return levels
    }

    /// Which one it is; nil as well where what should say it is refused or makes no sense.
    private static func position(of battery: Battery) async throws(BLEError) -> PresentationFormat.Description? {
        let position = try await Result(of: battery.peripheral) { () throws(BLEError) in try await battery.position() }
        guard case .success(let position?) = position, position != .unknown else { return nil }
        return position
    }
}

struct InfoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Show what a peripheral says of itself.")

    @OptionGroup var options: CommonOptions

    @Argument(help: idHelp)
    var id: String?

    func run() async throws {
        let (id, timeout) = (id, options.timeoutDuration)
        try await Session.run(options) { central, output in
            let finder = Finder(central: central, output: output, timeout: timeout)
            let peripheral = try await finder.find(id, offering: .deviceInformation)
            let information = try await output.progress.during("Reading \(peripheral)") {
                try await DeviceInformation(of: peripheral)
            }
            let rows = Self.rows(information)
            try output.line(
                .object(Dictionary(uniqueKeysWithValues: rows.map { ($0.key, .optional($0.value) { .string($0) }) })),
                rows.compactMap { row in row.value.map { row.title.padded(to: 18) + $0.harmless } }.joined(
                    separator: "\n"))
        }
    }

    private static func rows(_ information: DeviceInformation) -> [(key: String, title: String, value: String?)] {
        let systemID = information.systemID.map { id in
            let manufacturer = (0..<5).map { UInt8(truncatingIfNeeded: id.manufacturer >> (32 - 8 * $0)) }
            let organization = (0..<3).map { UInt8(truncatingIfNeeded: id.organization >> (16 - 8 * $0)) }
            return Hex.string(organization) + "-" + Hex.string(manufacturer)
        }
        let pnpID = information.pnpID.map { id in
            func hex(_ value: UInt16) -> String { Hex.string([UInt8(value >> 8), UInt8(value & 0xFF)]) }
            return (id.source == 1 ? "bluetooth" : id.source == 2 ? "usb" : "\(id.source)")
                + ":v\(hex(id.vendor))p\(hex(id.product))d\(hex(id.version))"
        }
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
            ),
        ]
    }
}
