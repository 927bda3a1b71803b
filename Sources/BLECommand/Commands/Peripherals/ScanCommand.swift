import ArgumentParser
import BLE
import BLEDefinitions
import BLEProfiles

struct ScanCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scan", abstract: "Show the peripherals in range.",
        discussion: """
            A peripheral that has been silent for 8 s is reported as lost. Runs for 10 s by default.

            On a terminal, the table has keys: the arrows select a peripheral, Enter opens it, s sorts, r reverses, / \
            filters, f freezes the screen, ? shows all keys, and q quits. After the first key, a scan without \
            --duration runs until you quit.
            """)

    @OptionGroup var options: CommonOptions

    @Option(help: ArgumentHelp("How long to scan; 0 for no limit. (default: 10)", valueName: "seconds"))
    var duration: Double?

    @Option(
        help: ArgumentHelp(
            "Only peripherals that advertise this service; repeatable, for any of several.", valueName: "uuid"),
        transform: ServiceArgument.init(named:))
    var service: [ServiceArgument] = []

    // Without this, a negative number would be parsed as an option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Only peripherals with at least this signal strength, in dBm.", valueName: "min"))
    var rssi: Int?

    @Option(help: ArgumentHelp("Only peripherals whose name contains this; case is ignored.", valueName: "text"))
    var name: String?

    @Option(help: ArgumentHelp("Only peripherals with exactly this name.", valueName: "text"))
    var exactName: String?

    @Option(
        help: ArgumentHelp(
            "Only peripherals with data of this company, such as 004c or its name, or 004c:0215 for data that begins "
                + "so, or ffff:10/f0 for data of which only the masked bits count.", valueName: "company[:hex[/mask]]"))
    var manufacturer: ManufacturerArgument?

    @Option(
        help: ArgumentHelp(
            "Only peripherals with data of this service; data and mask as for --manufacturer.",
            valueName: "uuid[:hex[/mask]]"))
    var serviceData: ServiceDataArgument?

    @Option(
        help: ArgumentHelp(
            "Only the devices whose private addresses the identity resolving keys in this file resolve: in each line "
                + "32 hexadecimal digits, the most significant first, after a name and = if it has a name; repeatable. "
                + "A key itself is accepted, too, but other users of the machine see the arguments.",
            valueName: "file|[name=]key"),
        completion: .file())
    var irk: [String] = []

    @Option(help: "The transport to scan.")
    var transport = TransportArgument.le

    @Flag(help: "Only listen, without requesting scan responses. Requires an experimental bluetoothd.")
    var passive = false

    @Flag(help: "Report every advertisement.")
    var duplicates = false

    @Flag(help: "A line for each event, even on a terminal. The default there is a table that is kept up to date.")
    var events = false

    @Option(help: "The order of the table.")
    var sort = ScanTable.Order.rssi

    func validate() throws {
        guard !options.managementSocket || transport == .le && !passive else {
            throw ValidationError(
                "--management-socket is for active scans for LE: remove it, or --passive and --transport.")
        }
        guard let duration else { return }
        guard duration >= 0, duration <= 31_536_000 else {
            throw ValidationError("--duration is a number of seconds from 0 to a year.")
        }
    }

    private var criteria: DiscoveryCriteria {
        var criteria = DiscoveryCriteria(services: Set(service.map(\.uuid)), minimumRSSI: rssi)
        if let name = name?.lowercased() {
            criteria = criteria && .custom { $0.localName?.lowercased().contains(name) == true }
        }
        if let exactName { criteria = criteria && .name(exactName) }
        if let manufacturer { criteria = criteria && .manufacturer(manufacturer.company, manufacturer.pattern) }
        if let serviceData { criteria = criteria && .serviceData(serviceData.service, serviceData.pattern) }
        if passive { criteria = criteria && .passive }
        return criteria && .transport(transport.transport)
    }

    func run() async throws {
        guard Session.host?.hasManagementSocket != true || transport == .le && !passive else {
            throw ValidationError(
                "The shell was opened with --management-socket, which is for active scans for LE: remove --passive and "
                    + "--transport, or open the shell without it.")
        }
        let keys = try await IdentityKeys.read(irk)
        guard irk.isEmpty || !keys.isEmpty else { throw ValidationError("The files of --irk have no key.") }
        let base = criteria
        let (duration, duplicates, lines, order) = (duration, duplicates, events, sort)
        try await Session.run(options) { central, output in
            // In a shell, the keys of earlier scans stay known.
            let criteria = keys.isEmpty ? base : base && .identities(try await central.addIdentities(keys))
            let limit = duration ?? 10 > 0 ? Duration.milliseconds(Int64((duration ?? 10) * 1000)) : nil
            if !lines, output.terminalSize != nil {
                let view = ScanView(output, order: order, end: duration == nil ? limit : nil)
                let events = central.discoveryEvents(
                    matching: criteria, duplicates: true, overflow: .dropOldest(capacity: ScanView.capacity))
                return try await TimeLimit.within(duration == nil ? nil : limit) { try await view.show(events) }
            }
            try output.text(output.paint(Self.head, .bold))
            let events = central.discoveryEvents(matching: criteria, duplicates: duplicates)
            guard let limit else { return try await Self.show(events, output) }
            try await output.progress.during("Scanning", limit: limit) {
                try await TimeLimit.within(limit) { try await Self.show(events, output) }
            }
        }
    }

    private static let head = "EVENT    ID                  RSSI  NAME                  SERVICES AND DATA"

    private static func show(_ events: DiscoveryEvents, _ output: Output) async throws {
        var dropped = 0
        for try await event in events {
            switch event {
            case .found(let discovery): try show("found", discovery, output)
            case .updated(let discovery): try show("updated", discovery, output)
            case .lost(let peripheral):
                let identity = await peripheral.central.identity(of: peripheral.id)
                try show(
                    "lost", Discovery(peripheral: peripheral, advertisement: Advertisement(), identity: identity),
                    output)
            case .waiting(let error): output.note("waiting: \(error.message)")
            }
            if events.droppedCount > dropped {
                dropped = events.droppedCount
                output.note("\(dropped) events were dropped: the output was not read in time")
            }
        }
    }

    private static func show(_ event: String, _ discovery: Discovery, _ output: Output) throws {
        let advertisement = discovery.advertisement
        try output.line(
            .object([
                "event": .string(event), "id": .string(discovery.id.rawValue),
                // What is lost, no radio hears.
                "radio": .optional(event == "lost" ? nil : discovery.radio),
                "address": .string(discovery.id.rawValue),
                "identity": .optional(discovery.identity) { .string($0) },
                "name": .optional(advertisement.localName) { .string($0) },
                "rssi": .optional(advertisement.rssi) { .int($0) },
                "txPower": .optional(advertisement.txPower) { .int($0) },
                "addressType": .optional(advertisement.addressType) { .string($0.rawValue) },
                "class": .optional(advertisement.deviceClass) { .string(Self.deviceClass($0)) },
                "services": .array(advertisement.serviceUUIDs.sorted().map { .string($0.description) }),
                "manufacturerData": .object(
                    Dictionary(uniqueKeysWithValues: advertisement.manufacturerData.map { (company($0), .hex($1)) })),
                "serviceData": .object(
                    Dictionary(uniqueKeysWithValues: advertisement.serviceData.map { ($0.description, .hex($1)) })),
                "formats": .object(try KnownAdvertisement.json(advertisement)),
            ]),
            text(event, discovery, output))
    }

    /// Returns the class of device as six hexadecimal digits, for its 24 bits.
    private static func deviceClass(_ value: UInt32) -> String {
        Hex.string([UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)])
    }

    /// Returns a company identifier as four hexadecimal digits.
    static func company(_ id: UInt16) -> String {
        Hex.string([UInt8(id >> 8), UInt8(id & 0xFF)])
    }

    private static func text(_ event: String, _ discovery: Discovery, _ output: Output) -> String {
        let advertisement = discovery.advertisement
        let style: Output.Style = event == "found" ? .green : event == "lost" ? .red : .dim
        return [
            output.paint(event.padded(to: 7), style), discovery.id.rawValue.padded(to: 17),
            (advertisement.rssi.map(String.init) ?? "").paddedLeft(to: 5),
            (advertisement.localName ?? "").harmless.padded(to: 20),
            contents(of: advertisement, identity: discovery.identity),
        ].joined(separator: "  ")
    }

    /// Returns the services and data: with their meaning if it is known, otherwise in hexadecimal.
    ///
    /// - Parameters:
    ///   - identity: the name of the device that has the private address, which is shown first.
    ///   - sensor: the readings of the peripheral, which replace those of the advertisement.
    static func contents(
        of advertisement: Advertisement, identity: String? = nil, _ sensor: SensorTable.Sensor? = nil
    ) -> String {
        let known = AdvertisementFormats.shown.all(in: advertisement)
        let sources = Set(known.compactMap(\.format.source))
        let services = advertisement.serviceUUIDs.sorted().map(ServiceArgument.text)
        var formats = known.map(\.text)
        if let sensor {
            formats = known.filter(\.readings.isEmpty).map(\.text)
            formats.append("\(sensor.formats.joined(separator: ", ")): \(readings(of: sensor))")
        }
        let manufacturer = advertisement.manufacturerData.sorted { $0.key < $1.key }
            .filter { !sources.contains(.company($0.key)) }
            .map { "\(company($0.key)):\(Hex.string($0.value))" }
        let data = advertisement.serviceData.sorted { $0.key < $1.key }
            .filter { !sources.contains(.service($0.key)) }
            .map { "\($0.key)=\(Hex.string($0.value))" }
        let classes = advertisement.deviceClass.map { ["class=\(deviceClass($0))"] } ?? []
        let identities = identity.map { ["identity=\($0.harmless)"] } ?? []
        return (identities + services + formats.map(\.harmless) + manufacturer + data + classes).joined(separator: " ")
    }

    /// The age from which that of a reading is shown.
    private static let shownAge = Duration.seconds(10)

    /// Returns the readings of a sensor, with the ages of those that the last ones did not repeat.
    private static func readings(of sensor: SensorTable.Sensor) -> String {
        sensor.readings.map { aged in
            let isOld = aged.age - sensor.age >= shownAge
            return "\(aged.reading)" + (isOld ? " (\(aged.age.components.seconds) s ago)" : "")
        }.joined(separator: ", ")
    }
}
