import ArgumentParser
import BLE
import BLEProfiles

struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show the peripherals in range.",
        discussion: "A peripheral that has been silent for 8 s is reported lost. Runs for 10 s unless told otherwise.")

    @OptionGroup var options: CommonOptions

    @Option(help: ArgumentHelp("How long to scan; 0 until interrupted.", valueName: "seconds"))
    var duration = 10.0

    @Option(
        help: ArgumentHelp("Only peripherals that advertise this service; repeatable, any of them.", valueName: "uuid"))
    var service: [ServiceArgument] = []

    @Option(help: ArgumentHelp("Only peripherals at least this strong, in dBm.", valueName: "min"))
    var rssi: Int?

    @Flag(help: "Report every advertisement.")
    var duplicates = false

    func validate() throws {
        guard duration >= 0, duration <= 31_536_000 else {
            throw ValidationError("--duration takes a number of seconds from 0, at most a year.")
        }
    }

    func run() async throws {
        let criteria = DiscoveryCriteria(services: Set(service.map(\.uuid)), minimumRSSI: rssi)
        let (duration, duplicates) = (duration, duplicates)
        try await Session.run(options) { central, output in
            try output.text(output.paint(Self.head, .bold))
            let events = central.discoveryEvents(matching: criteria, duplicates: duplicates)
            guard duration > 0 else { return try await Self.show(events, output) }
            let limit = Duration.milliseconds(Int64(duration * 1000))
            try await output.progress.during("Scanning", limit: limit) {
                try await withThrowingTaskGroup { group in
                    group.addTask { try await Self.show(events, output) }
                    group.addTask { try await Task.sleep(for: limit) }
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }

    private static let head = "EVENT    ID                  RSSI  NAME                  SERVICES AND DATA"

    private static func show(_ events: DiscoveryEvents, _ output: Output) async throws {
        for try await event in events {
            switch event {
            case .found(let discovery): try show("found", discovery.peripheral, discovery.advertisement, output)
            case .updated(let discovery): try show("updated", discovery.peripheral, discovery.advertisement, output)
            case .lost(let peripheral): try show("lost", peripheral, Advertisement(), output)
            }
        }
    }

    private static func show(
        _ event: String, _ peripheral: Peripheral, _ advertisement: Advertisement, _ output: Output
    ) throws {
        try output.line(
            .object([
                "event": .string(event), "id": .string(peripheral.id.rawValue),
                "address": .string(peripheral.id.rawValue),
                "name": .optional(advertisement.localName) { .string($0) },
                "rssi": .optional(advertisement.rssi) { .int($0) },
                "txPower": .optional(advertisement.txPower) { .int($0) },
                "services": .array(advertisement.serviceUUIDs.sorted().map { .string($0.description) }),
                "manufacturerData": .object(
                    Dictionary(uniqueKeysWithValues: advertisement.manufacturerData.map { (company($0), .hex($1)) })),
                "serviceData": .object(
                    Dictionary(uniqueKeysWithValues: advertisement.serviceData.map { ($0.description, .hex($1)) })),
            ]),
            text(event, peripheral, advertisement, output))
    }

    private static func company(_ id: UInt16) -> String {
        Hex.string([UInt8(id >> 8), UInt8(id & 0xFF)])
    }

    private static func text(
        _ event: String, _ peripheral: Peripheral, _ advertisement: Advertisement, _ output: Output
    ) -> String {
        let style: Output.Style = event == "found" ? .green : event == "lost" ? .red : .dim
        let services = advertisement.serviceUUIDs.sorted().map { AssignedNumbers.serviceName($0) ?? $0.description }
        let manufacturer = advertisement.manufacturerData.sorted { $0.key < $1.key }
            .map { "\(company($0.key)):\(Hex.string($0.value))" }
        let data = advertisement.serviceData.sorted { $0.key < $1.key }.map { "\($0.key)=\(Hex.string($0.value))" }
        return [
            output.paint(event.padded(to: 7), style), peripheral.id.rawValue.padded(to: 17),
            (advertisement.rssi.map(String.init) ?? "").paddedLeft(to: 5),
            (advertisement.localName ?? "").padded(to: 20), (services + manufacturer + data).joined(separator: " "),
        ].joined(separator: "  ")
    }
}
