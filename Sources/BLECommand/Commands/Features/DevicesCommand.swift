import BLE
import BLEDefinitions

#if DeviceCommands
    import ArgumentParser
    import BLE
    import BLEFeatures
    import SmartLock

    struct DevicesCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "devices", abstract: "Show the devices of a kind that a file describes, or use one.",
            discussion: """
                The file is a JSON object with the keys service, request, reply, company, features, replyTimeout, \
                connectTimeout, connectAttempts, staleness, longFrames, reassembles, writeType, lateReplyGrace, \
                bufferedPackets and encryption (mode, salt, info, command), all optional. The known features are from \
                the example in Docs/Examples/SmartLock: \(Self.features.keys.sorted().joined(separator: ", ")).
                """)

        static let features: [String: any Feature.Type] = [
            "lock-settings": LockSettings.self, "lock-network": LockNetwork.self, "lock-access": LockAccess.self,
        ]

        @OptionGroup var options: CommonOptions

        @Option(help: ArgumentHelp("The kind of device.", valueName: "file"))
        var config: String

        @Option(help: ArgumentHelp("How long to search for devices; 0 for no limit.", valueName: "seconds"))
        var duration = 10.0

        @Option(help: ArgumentHelp("Connect to the device with this serial number instead.", valueName: "serial"))
        var connect: SerialArgument?

        @Option(
            help: ArgumentHelp(
                "Send this request to the device and print the reply; repeatable.", valueName: "command[:hex]"))
        var send: [MessageArgument] = []

        @Flag(help: "Pair with the device first: agree on a new key.")
        var pair = false

        @Flag(help: "Encrypt the requests.")
        var encrypted = false

        @Option(
            help: ArgumentHelp(
                "The file for pairing keys; without it, they are kept only until the command ends.", valueName: "file"))
        var storage: String?

        func validate() throws {
            guard duration >= 0, duration <= 31_536_000 else {
                throw ValidationError("--duration is a number of seconds from 0 to a year.")
            }
            guard connect != nil || (send.isEmpty && !pair && !encrypted) else {
                throw ValidationError("--send, --pair and --encrypted require --connect.")
            }
        }

        func run() async throws {
            let (path, storage) = (config, storage)
            let look = Look(duration: duration)
            let talk = connect.map { Talk(serial: $0.serial, messages: send, pairs: pair, encrypts: encrypted) }
            try await Session.run(options) { central, output in
                let configuration = try Devices.Configuration(file: path, features: Self.features)
                let devices =
                    if let storage {
                        Devices(central, configuration: configuration, storage: FileDeviceStorage(path: storage))
                    } else {
                        Devices(central, configuration: configuration)
                    }
                if let talk { try await talk.run(devices, output) } else { try await look.run(devices, output) }
            }
        }
    }

    /// Shows devices as they appear and disappear.
    private struct Look {
        let duration: Double

        func run(_ devices: Devices, _ output: Output) async throws {
            try output.text(output.paint("EVENT  SERIAL        RSSI  ID                 NAME", .bold))
            guard duration > 0 else { return try await show(devices, output) }
            let limit = Duration.milliseconds(Int64(duration * 1000))
            try await output.progress.during("Looking for devices", limit: limit) {
                try await withThrowingTaskGroup { group in
                    group.addTask { try await show(devices, output) }
                    group.addTask { try await CommandClock.sleep(for: limit) }
                    try await group.next()
                    group.cancelAll()
                }
            }
        }

        private func show(_ devices: Devices, _ output: Output) async throws {
            // Several peripherals may claim the same serial number.
            var shown: [Peripheral.ID: DiscoveredDevice] = [:]
            for try await list in devices.nearby() {
                let now = Dictionary(list.map { ($0.peripheral.id, $0) }) { $1 }
                for device in list where shown[device.peripheral.id] == nil { try show("found", device, output) }
                for device in shown.values where now[device.peripheral.id] == nil { try show("lost", device, output) }
                shown = now
            }
        }

        private func show(_ event: String, _ device: DiscoveredDevice, _ output: Output) throws {
            let rssi = event == "found" ? device.advertisement.rssi : nil
            try output.line(
                .object([
                    "event": .string(event), "serial": .string(device.serial),
                    "id": .string(device.peripheral.id.rawValue), "name": .optional(device.name) { .string($0) },
                    "rssi": .optional(rssi) { .int($0) },
                ]),
                [
                    output.paint(event.padded(to: 5), event == "found" ? .green : .red), device.serial,
                    (rssi.map(String.init) ?? "").paddedLeft(to: 4), device.peripheral.id.rawValue.padded(to: 17),
                    (device.name ?? "").harmless,
                ].joined(separator: "  "))
        }
    }

    /// Connects to a device and sends the given messages.
    private struct Talk {
        let serial: String
        let messages: [MessageArgument]
        let pairs: Bool
        let encrypts: Bool

        func run(_ devices: Devices, _ output: Output) async throws {
            let device = try await output.progress.during("Connecting") { try await devices.connect(serial: serial) }
            let features = DevicesCommand.features.filter { feature in
                device.features.contains { type(of: $0) == feature.value }
            }.keys.sorted()
            try output.line(
                .object([
                    "event": .string("connected"), "serial": .string(serial),
                    "id": .string(device.peripheral.id.rawValue), "name": .optional(device.name) { .string($0) },
                    "features": .array(features.map { .string($0) }),
                ]),
                "connected  \(serial)  \((device.name ?? "").harmless)  (\(features.joined(separator: ", ")))")
            if pairs {
                try await device.messages.pair()
                try output.line(.object(["event": .string("paired"), "serial": .string(serial)]), "paired")
            }
            for message in messages {
                let reply = try await device.messages.send(
                    Message(message.command, isEncrypted: encrypts, payload: message.payload))
                try output.line(
                    .object([
                        "event": .string("reply"), "command": .string(Hex.string(message.command.bytes)),
                        "payload": .hex(reply.payload),
                    ]),
                    "reply      \(Hex.string(message.command.bytes))  \(Hex.string(reply.payload))")
            }
        }
    }

    /// A device's serial number on the command line.
    struct SerialArgument: ExpressibleByArgument, Sendable {
        let serial: String

        init?(argument: String) {
            guard let bytes = Hex.bytes(argument), bytes.count == 6 else { return nil }
            serial = Hex.string(bytes)
        }
    }

    /// A message on the command line: the command as four digits, and the payload after a colon.
    struct MessageArgument: ExpressibleByArgument, Sendable {
        let command: MessageCommand
        let payload: [UInt8]

        init?(argument: String) {
            let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let command = Hex.bytes(String(parts[0])), command.count == 2,
                let payload = parts.count == 1 ? [] : Hex.bytes(String(parts[1]))
            else { return nil }
            self.command = MessageCommand(command: command[0], namespace: command[1])
            self.payload = payload
        }
    }

    extension MessageCommand {
        fileprivate var bytes: [UInt8] { [command, namespace] }
    }
#endif
