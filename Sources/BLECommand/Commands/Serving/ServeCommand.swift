import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLESimulation
import FoundationEssentials

#if DeviceCommands
    import SmartLock
#endif

/// A ready-made peripheral, by name.
enum ServedName: String, ExpressibleByArgument, CaseIterable {
    case heartRateStrap = "heart-rate-strap"
    case battery
    case weatherStation = "weather-station"
    case lamp
    #if DeviceCommands
        case lock
    #endif

    func definition(name: String) -> PeripheralDefinition {
        var definition: PeripheralDefinition =
            switch self {
            case .heartRateStrap: .heartRateStrap(name: name)
            case .battery: .battery(name: name)
            case .weatherStation: .weatherStation(name: name)
            case .lamp: .lamp(name: name)
            #if DeviceCommands
                case .lock: SimulatedLock().definition
            #endif
            }
        definition.advertisement.rssi = nil
        definition.advertisement.localName = name
        return definition
    }

    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }

    var defaultName: String {
        switch self {
        case .heartRateStrap: "Strap"
        case .battery: "Battery"
        case .weatherStation: "Weather Station"
        case .lamp: "Lamp"
        #if DeviceCommands
            case .lock: "Lock"
        #endif
        }
    }
}

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Be a peripheral: advertise and serve until Ctrl-C.",
        discussion: """
            Each line on standard input sets a value, which subscribers receive: a characteristic's UUID or name and the \
            bytes in hexadecimal, such as "2a19 32", or the same as JSON, such as {"uuid": "battery-level", "value": "32"}.
            """)

    @OptionGroup var options: CommonOptions

    @Argument(
        help: ArgumentHelp(
            "\(ServedName.list), or a file with a definition in JSON.", valueName: "peripheral"))
    var peripheral: String

    @Option(help: ArgumentHelp("The name to advertise, up to 29 bytes.", valueName: "text"))
    var name: String?

    func run() async throws {
        let definition = try definition()
        try await Session.serve(options) { host, output in
            for diagnostic in host.diagnostics(for: definition) where !diagnostic.isError {
                output.note("\(diagnostic)")
            }
            let events = await host.events()
            try await host.withServed(definition) { served in
                output.note("serving \(definition.advertisement.localName ?? ""); Ctrl-C ends")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await event in events { try Self.show(event, output) }
                    }
                    if !CommandClock.isVirtual {
                        group.addTask { try await Self.followInput(served, output) }
                    }
                    defer { group.cancelAll() }
                    // The end of the input ends nothing.
                    while try await group.next() != nil {}
                }
            }
        }
    }

    private func definition() throws -> PeripheralDefinition {
        if let known = ServedName(rawValue: peripheral) { return known.definition(name: name ?? known.defaultName) }
        let json: Data
        do {
            json = try Data(contentsOf: URL(filePath: peripheral))
        } catch {
            throw ValidationError("\(peripheral) is neither a file that can be read nor one of: \(ServedName.list).")
        }
        do {
            var definition = try DefinitionFile(json: json).definition
            try Self.check(definition)
            if let name {
                definition.advertisement.localName = name
                definition.advertising?.localName = name
            }
            return definition
        } catch let mistake as Entry.Mistake {
            throw ValidationError("\(peripheral): \(mistake)")
        }
    }

    /// Refuses what a host would refuse, before there is one.
    private static func check(_ definition: PeripheralDefinition) throws {
        let limits = PeripheralLimits(reservedServices: [BluetoothUUID(0x1800), BluetoothUUID(0x1801)])
        let problems = definition.diagnostics(limits: limits).filter(\.isError)
        guard !problems.isEmpty else { return }
        throw Entry.Mistake(place: "", message: problems.map(\.description).joined(separator: "\n"))
    }

    /// Sets the values that standard input gives.
    private static func followInput(_ served: ServedPeripheral, _ output: Output) async throws {
        for await line in InputLines.all() {
            let change: ValueLine
            do {
                change = try ValueLine(line)
            } catch {
                output.note("\(error): \(line)")
                continue
            }
            do throws(BLEError) {
                try await served.setValue(change.value, of: change.characteristic)
            } catch {
                if error.isCancellation || error.code == .shutDown { throw error }
                output.complain(error)
            }
        }
    }

    static func show(_ event: PeripheralHostEvent, _ output: Output) throws {
        func line(_ name: String, _ keys: [String: JSON], _ text: String) throws {
            try output.line(.object(keys.merging(["event": .string(name)]) { $1 }), text)
        }
        func subscriber(_ name: String, _ subscriber: PeripheralHostEvent.Subscriber) throws {
            let type = subscriber.characteristic
            let central = subscriber.central.map { "\($0)" }
            try line(
                name, ["uuid": .string(type.description), "central": central.map { .string($0) } ?? .null],
                "\(name) \(type.name(in: .vendors) ?? type.description)\(central.map { " by \($0)" } ?? "")")
        }
        switch event {
        case .centralConnected(let central):
            try line("connected", ["central": .string("\(central)")], "connected \(central)")
        case .centralDisconnected(let central):
            try line("disconnected", ["central": .string("\(central)")], "disconnected \(central)")
        case .subscribed(let value): try subscriber("subscribed", value)
        case .unsubscribed(let value): try subscriber("unsubscribed", value)
        case .advertisingStarted: try line("advertising", [:], "advertising")
        case .advertisingEnded(let error?):
            try line("advertisingEnded", ["error": .string(error.message)], "advertising ended: \(error.message)")
        case .advertisingEnded(nil): try line("advertisingEnded", [:], "advertising ended")
        case .servicesLost(let error):
            try line("servicesLost", ["error": .string(error.message)], "not served now: \(error.message)")
        case .servicesRestored: try line("servicesRestored", [:], "served again")
        case .failed(let error): output.complain(error)
        }
    }
}
