import ArgumentParser
import BLE
import BLEBTHome
import BLEBeacons

struct AdvertiseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise", abstract: "Advertise until Ctrl-C, without serving anything.",
        discussion: "Shows the number of bytes of each field. A beacon is not connectable.")

    @OptionGroup var options: CommonOptions

    @Option(help: ArgumentHelp("The name, up to 29 bytes.", valueName: "text"))
    var name: String?

    @Option(
        help: ArgumentHelp("A service, by UUID or name; may be repeated.", valueName: "service"),
        transform: ServiceArgument.init(named:))
    var service: [ServiceArgument] = []

    @Option(help: ArgumentHelp("Manufacturer data; may be repeated.", valueName: "company:hex"))
    var manufacturer: [ManufacturerArgument] = []

    @Option(help: ArgumentHelp("Service data; may be repeated.", valueName: "service:hex"))
    var serviceData: [ServiceDataArgument] = []

    @Option(name: .customLong("ibeacon"), help: ArgumentHelp("An iBeacon.", valueName: "uuid,major,minor[,dBm]"))
    var iBeacon: String?

    @Option(help: ArgumentHelp("An Eddystone beacon with a web address.", valueName: "url"))
    var eddystoneURL: String?

    @Option(
        name: .customLong("bthome"),
        help: ArgumentHelp(
            "A BTHome report's object, such as temperature=21.5, window=open or button=press; may be repeated.",
            valueName: "object=value"),
        transform: BTHomeArgument.init(named:))
    var btHome: [BTHomeArgument] = []

    @Flag(help: "Let centrals connect.")
    var connectable = false

    @Option(help: ArgumentHelp("End after this time: whole seconds, 1 to 65535.", valueName: "seconds"))
    var seconds: Int?

    func validate() throws { _ = try parameters() }

    private func parameters() throws -> AdvertisingParameters {
        let beacons = [
            ("--ibeacon", iBeacon != nil), ("--eddystone-url", eddystoneURL != nil), ("--bthome", !btHome.isEmpty),
        ].filter(\.1).map(\.0)
        guard beacons.count < 2 else {
            throw ValidationError(
                "\(beacons.joined(separator: " and ")) are several beacons: run one command for each.")
        }
        guard btHome.isEmpty || !serviceData.contains(where: { $0.service == BluetoothUUID(0xFCD2) }) else {
            throw ValidationError("--bthome sets the service data of FCD2: remove the --service-data for it.")
        }
        var parameters = AdvertisingParameters(isConnectable: connectable)
        do {
            if let iBeacon { parameters = try .iBeacon(try Self.beacon(iBeacon)) }
            if let eddystoneURL { parameters = try .eddystone(.url(eddystoneURL, txPower: -20)) }
            if !btHome.isEmpty {
                // Receivers expect the ids in order. Objects of one kind keep their order.
                let objects = btHome.enumerated().sorted {
                    ($0.element.object.kind.id, $0.offset) < ($1.element.object.kind.id, $1.offset)
                }
                parameters = try .bthome(BTHome(objects.map(\.element.object)))
            }
        } catch let error as AdvertisementFormatError {
            throw ValidationError(Self.text(error))
        } catch let error as BLEError {
            throw ValidationError(error.message)
        }
        parameters.isConnectable = connectable
        parameters.localName = name
        parameters.serviceUUIDs += service.map(\.uuid)
        for data in manufacturer { parameters.manufacturerData[data.company] = try Self.whole(data.pattern) }
        for data in serviceData { parameters.serviceData[data.service] = try Self.whole(data.pattern) }
        parameters.duration = seconds.map { .seconds($0) }
        do throws(BLEError) {
            try parameters.validate()
        } catch {
            throw Self.refusal(error, parameters.budget())
        }
        guard
            parameters.isConnectable || parameters.budget().advertisement.used > 0
                || parameters.budget().scanResponse.used > 0
        else {
            throw ValidationError(
                "There is nothing to advertise. Add --name, --service, --manufacturer, --service-data or a beacon.")
        }
        return parameters
    }

    /// Returns a description of what is wrong with a beacon. The error's own description is about received beacons.
    private static func text(_ error: AdvertisementFormatError) -> String {
        switch error.reason {
        case .invalidLength(let count):
            "\(error.format): a beacon has no room for these \(count) bytes. Shorten it."
        case .unsupportedVersion(let version): "\(error.format): there is no version \(version)."
        case .invalidValue(let field): "\(error.format): the \(field) cannot be sent."
        case .invalidText(let field): "\(error.format): the \(field) contains text that cannot be sent."
        }
    }

    /// The options for the properties of the parameters, and the remedies if a value is invalid.
    private static let options: [(property: String, option: String, remedy: String)] = [
        ("localName", "--name", "Use a shorter name, without zero bytes."),
        ("duration", "--seconds", "Use whole seconds, 1 to 65535, or omit the option for no limit."),
        ("serviceUUIDs", "--service", "Use each service once."),
        ("serviceData", "--service-data", "Add bytes to each service, such as 180f:32."),
        ("manufacturerData", "--manufacturer", "Add bytes to each company, such as ffff:0102."),
    ]

    /// Returns the error for parameters that cannot be advertised, in terms of the command line.
    private static func refusal(_ error: BLEError, _ budget: AdvertisingBudget) -> ValidationError {
        if let field = budget.firstOverflowing {
            let space = budget.space(in: field.packet)
            let packet = field.packet == .advertisement ? "advertisement" : "scan response"
            return ValidationError(
                "The \(field.name) does not fit: the \(packet) has \(space.used) bytes, but at most \(space.capacity) "
                    + "are possible. Shorten it by \(space.used - space.capacity), or remove another field.")
        }
        var (message, remedies) = (error.message, [String]())
        for (property, option, remedy) in options where message.contains("`\(property)`") {
            message = message.replacing("`\(property)`", with: option)
            remedies.append(remedy)
        }
        return ValidationError(([message + "."] + remedies).joined(separator: " "))
    }

    private static func beacon(_ text: String) throws -> IBeacon {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard (3...4).contains(parts.count), let uuid = proximityUUID(parts[0]), let major = UInt16(parts[1]),
            let minor = UInt16(parts[2]), let power = parts.count == 4 ? Int(parts[3]) : -59
        else {
            throw ValidationError(
                "--ibeacon is a UUID of 128 bits, two numbers from 0 to 65535 and a strength, such as -59.")
        }
        return IBeacon(uuid: uuid, major: major, minor: minor, measuredPower: power)
    }

    /// Returns a UUID from all its 128 bits, because the UUIDs of beacons have no short form.
    private static func proximityUUID(_ text: Substring) -> BluetoothUUID? {
        text.count(where: \.isHexDigit) == 32 ? BluetoothUUID(String(text)) : nil
    }

    /// Returns the bytes of data. Throws for data without bytes or with a mask.
    private static func whole(_ pattern: BytePattern) throws -> [UInt8] {
        guard !pattern.bytes.isEmpty, pattern.mask == nil else {
            throw ValidationError("Advertised data needs bytes, such as ffff:010203.")
        }
        return pattern.bytes
    }

    func run() async throws {
        let parameters = try parameters()
        try await Session.serve(options) { host, output in
            if !output.json {
                for line in parameters.budget().description.split(separator: "\n") { output.note(String(line)) }
            }
            let events = await host.events()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await host.advertise(parameters) }
                group.addTask {
                    for try await event in events { try HostOutput.show(event, output) }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }
}
