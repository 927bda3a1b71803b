import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEDefinitions
import BLESimulation
import BLETransfers
import FoundationEssentials

#if DeviceCommands
    import BLEFirmware
    import SmartLock
#endif

/// A ready-made peripheral, by name.
enum ServedName: String, ExpressibleByArgument, CaseIterable {
    case heartRateStrap = "heart-rate-strap"
    case battery
    case weatherStation = "weather-station"
    case lamp
    case receiver
    #if DeviceCommands
        case lock
        case updatable
    #endif

    func definition(name: String) -> PeripheralDefinition {
        var definition: PeripheralDefinition =
            switch self {
            case .heartRateStrap: .heartRateStrap(name: name)
            case .battery: .battery(name: name)
            case .weatherStation: .weatherStation(name: name)
            case .lamp: .lamp(name: name)
            case .receiver: Receiver().definition(name: name)
            #if DeviceCommands
                case .lock: SimulatedLock().definition
                case .updatable: Self.updatable(name)
            #endif
            }
        definition.advertisement.rssi = nil
        definition.advertisement.localName = name
        return definition
    }

    #if DeviceCommands
        /// A device whose firmware can be updated, and which loses it when it is no longer served.
        private static func updatable(_ name: String) -> PeripheralDefinition {
            let storage = MemoryFirmwareStorage(
                .init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: Array(name.utf8))))
            return FirmwarePeripheral(
                storage, onExecute: { .init(output: $0.joined(separator: " ")) },
                onReset: { _ in try await storage.reset() }
            ).definition(name: name)
        }
    #endif

    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }

    var defaultName: String {
        switch self {
        case .heartRateStrap: "Strap"
        case .battery: "Battery"
        case .weatherStation: "Weather Station"
        case .lamp: "Lamp"
        case .receiver: "Receiver"
        #if DeviceCommands
            case .lock: "Lock"
            case .updatable: "Updatable"
        #endif
        }
    }
}

extension PeripheralDefinition {
    /// The ready-made peripheral of that name, or the definition in the file. Throws `ValidationError`.
    init(
        argument: String, name: String?, check: (PeripheralDefinition) throws -> Void = { _ in }
    ) throws {
        if let known = ServedName(rawValue: argument) {
            self = known.definition(name: name ?? known.defaultName)
            return
        }
        let json: Data
        do {
            json = try Data(contentsOf: URL(filePath: argument))
        } catch {
            throw ValidationError("\(argument) is not a readable file, nor one of: \(ServedName.list).")
        }
        do {
            self = try Entry.$catalog.withValue(.shown) { try DefinitionFile(json: json).definition }
            try check(self)
        } catch let mistake as DefinitionError {
            throw ValidationError("\(argument): \(mistake)")
        }
        if let name {
            advertisement.localName = name
            advertising?.localName = name
        }
    }
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Be a peripheral: advertise and serve until Ctrl-C.",
        discussion: """
            Shows the actions of centrals: links, reads, writes and subscriptions. Each line on standard input sets a \
            value, which subscribers receive: a characteristic's UUID or name and the bytes in hexadecimal, such as \
            "2a19 32", or "2a19#2 32" for the second of that type; or JSON, such as {"uuid": "battery-level", "value": \
            "32"}, with a "service" or a "number" if there are several of the characteristic. If a pairing asks a \
            question, the next line answers it; the part of a line that was typed before the question is dropped.
            """)

    @OptionGroup var options: CommonOptions
    @OptionGroup var pairing: PairingOptions

    @Argument(
        help: ArgumentHelp(
            "\(ServedName.list), or a file with a definition in JSON.", valueName: "peripheral"))
    var peripheral: String

    @Option(help: ArgumentHelp("The name to advertise, up to 29 bytes.", valueName: "text"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "For receiver: where the received files are stored. Without it, they are only shown.",
            valueName: "directory"))
    var directory: String?

    func validate() throws {
        guard directory == nil || peripheral == ServedName.receiver.rawValue else {
            throw ValidationError("--directory is for: ble serve receiver.")
        }
        guard name?.utf8.count ?? 0 <= 29 else {
            throw ValidationError("--name has up to 29 bytes. Use a shorter name.")
        }
    }

    func run() async throws {
        // Read before signals are handled, so that a signal ends the reading of a long file.
        let receiver = try receiver()
        let definition = try definition(receiver)
        let warning = pairing.warning(about: definition)
        let agent = pairing.makeAgent(json: options.json)
        // Channels are the kernel's, which the fake bluetoothd of a shared radio does not have.
        let shares = definition.channels.isEmpty
        try await Session.serve(options, pairing: agent?.agent, shares: shares) { host, output in
            for diagnostic in host.diagnostics(for: definition) where !diagnostic.isError {
                output.note("\(diagnostic)")
            }
            if let warning { output.note("warning: \(warning)") }
            let events = await host.events()
            let requests = AnsweredRequests()
            // Those of a receiver are packets of files.
            if receiver == nil { await host.observeRequests { requests.add($0) } }
            try await host.withServed(definition) { served in
                output.note("serving \(definition.advertisement.localName ?? peripheral); Ctrl-C ends")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await event in events { try HostOutput.show(event, output) }
                    }
                    group.addTask { try await requests.show(output) }
                    if let receiver { group.addTask { try await receiver.show(output) } }
                    if !CommandClock.isVirtual {
                        let input = ServedInput(definition: definition, user: agent?.user)
                        group.addTask { try await input.follow(served, output) }
                    }
                    defer { group.cancelAll() }
                    // The end of the input does not end serving.
                    while try await group.next() != nil {}
                }
            }
        }
    }

    private func receiver() throws -> Receiver? {
        guard peripheral == ServedName.receiver.rawValue else { return nil }
        // The shared radio has no channels.
        return try Receiver(directory: directory, hasChannel: options.backend != .simulated)
    }

    private func definition(_ receiver: Receiver?) throws -> PeripheralDefinition {
        if let receiver { return receiver.definition(name: name ?? ServedName.receiver.defaultName) }
        return try PeripheralDefinition(argument: peripheral, name: name, check: Self.check)
    }

    /// What any host refuses: the services GAP and GATT.
    static let limits = PeripheralLimits(reservedServices: [BluetoothUUID(0x1800), BluetoothUUID(0x1801)])

    /// Refuses definitions that a host would refuse, before the host is created.
    private static func check(_ definition: PeripheralDefinition) throws {
        let problems = definition.diagnostics(limits: limits).filter(\.isError)
        guard !problems.isEmpty else { return }
        let shown = problems.prefix(20).map(\.description)
        let rest = problems.count - shown.count
        throw DefinitionError(
            message: (shown + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "\n"))
    }
}
