import BLEDefinitions

#if Gateway
    import BLE
    import BLEBTHome
    import BLEFakeBlueZ
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Subprocess
    import Testing

    @testable import BLECommand

    /// `ble gateway` on a fake bluetoothd and Debian's mosquitto, read by mosquitto_sub.
    @Suite(.startsProcesses, .hangLimit)
    struct GatewayCommandTests {
        private let world: BlueZWorld
        private let broker: TestBroker

        init() async throws {
            world = try await BlueZWorld()
            broker = try TestBroker(port: try TestBroker.freePort())
        }

        /// Writes a configuration with two devices, and returns its path.
        private func configuration(_ id: String = "kitchen", isFleet: Bool = false) throws -> String {
            let text = """
                {"id": "\(id)", "fleet": \(isFleet), "broker": {"host": "127.0.0.1", "port": \(broker.port ?? 0)},
                 "devices": {"freezer": {"address": "C4:7C:8D:00:00:01", "name": "Freezer", "expiry": 3600},
                             "lamp": {"localName": "Simulated Lamp"}}}
                """
            let file = broker.path("\(id).json")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return file
        }

        private static func thermometer(_ value: Double) throws -> PeripheralDefinition {
            var advertisement = Advertisement(localName: "Thermometer")
            try BTHome([try BTHomeObject(try #require(BTHomeKind(id: 2)), value: value)]).encode(into: &advertisement)
            return PeripheralDefinition(address: "C4:7C:8D:00:00:01", advertisement: advertisement, services: [])
        }

        private static let states = ["ble/device/c47c8d000001/state", "ble/gateway/kitchen/state"]

        @Test func `values reach a subscriber, also one that comes later, and SIGTERM tells that the gateway ends`()
            async throws
        {
            _ = await world.radio.add(try Self.thermometer(-18.5))
            try await broker.run { mosquitto in
                let result = try await world.ble("gateway", "--config", try configuration()).run { gateway in
                    let lines = try await broker.read(["ble/device/c47c8d000001/state"], count: 1, format: "%p")
                    #expect(lines.first?.contains(#""temperature":-18.5"#) == true)
                    let later = try await broker.read(
                        ["homeassistant/device/ble_c47c8d000001/config"], count: 1, format: "%r %p")
                    #expect(later.first?.hasPrefix("1 ") == true)
                    #expect(later.first?.contains(#""name":"Freezer""#) == true)
                    gateway.send(.terminate)
                }
                #expect(result.status == 0)
                #expect(
                    try await broker.read(["ble/gateway/kitchen/state"], count: 1) == [
                        "ble/gateway/kitchen/state offline 1"
                    ])
            }
        }

        @Test func `a gateway that is killed is offline by its will`() async throws {
            try await broker.run { mosquitto in
                _ = try await world.ble("gateway", "--config", try configuration()).run { gateway in
                    let state = try await broker.read(["ble/gateway/kitchen/state"], count: 1, format: "%p")
                    #expect(state == ["online"])
                    gateway.send(.kill)
                }
                let last = try await broker.read(["ble/gateway/kitchen/state"], count: 1, format: "%p")
                #expect(last == ["offline"])
            }
        }

        @Test func `a gateway starts before the broker and before bluetoothd, and outlasts the death of both`()
            async throws
        {
            let thermometer = await world.radio.add(try Self.thermometer(1))
            await world.daemon.kill()
            let tool = world.ble("gateway", "--config", try configuration())
            let result = try await tool.run { gateway in
                try await gateway.errors.until("no connection to the broker")
                try await broker.run { mosquitto in
                    #expect(try await broker.read(["ble/gateway/kitchen/state"], count: 1, format: "%p") == ["online"])
                    try await world.daemon.start()
                    let first = try await broker.read(["ble/device/c47c8d000001/state"], count: 1, format: "%p")
                    #expect(first.first?.contains(#""temperature":1"#) == true)
                    await world.daemon.kill()
                    await thermometer.setAdvertisement(try Self.thermometer(2).advertisement)
                    try await world.daemon.start()
                    // The retained message, and the new one.
                    let second = try await broker.read(["ble/device/c47c8d000001/state"], count: 2, format: "%p")
                    #expect(second.last?.contains(#""temperature":2"#) == true)
                }
                // Another broker, which knows nothing.
                try await broker.run { mosquitto in
                    let third = try await broker.read(["ble/device/c47c8d000001/state"], count: 1, format: "%p")
                    #expect(third.first?.contains(#""temperature":2"#) == true)
                }
                gateway.send(.terminate)
            }
            #expect(result.status == 0)
        }

        @Test func `of two gateways of a fleet, one publishes, and the other one when that one is killed`() async throws
        {
            let thermometer = await world.radio.add(try Self.thermometer(3))
            // What is not heard again, nobody claims.
            let sensor = Task {
                while !Task.isCancelled {
                    for value in [3.0, 4] {
                        await thermometer.setAdvertisement(try Self.thermometer(value).advertisement)
                        try await ContinuousClock().sleep(for: .seconds(1))
                    }
                }
            }
            defer { sensor.cancel() }
            try await broker.run { mosquitto in
                _ = try await world.ble("gateway", "--config", try configuration("attic", isFleet: true)).run { attic in
                    let claims = broker.subscriber(["ble/device/c47c8d000001/origin"], count: 2, format: "%p")
                    let second = world.ble("gateway", "--config", try configuration("kitchen", isFleet: true))
                    let result = try await claims.run { claims in
                        try await claims.output.until(lineCount: 1)
                        _ = try await second.run { kitchen in
                            _ = try await broker.read(["ble/seen/c47c8d000001/kitchen"], count: 1)
                            attic.send(.kill)
                            try await claims.output.until(lineCount: 2)
                            let state = try await broker.read(
                                ["ble/device/c47c8d000001/state"], count: 1, format: "%p")
                            #expect(state.first?.contains(#""temperature":"#) == true)
                            kitchen.send(.terminate)
                        }
                    }
                    let lines = result.output.split(separator: "\n")
                    #expect(lines.map { $0.contains("attic") } == [true, false])
                    #expect(lines.map { $0.contains("kitchen") } == [false, true])
                }
            }
        }

        @Test func `commands from the broker write and read a listed peripheral`() async throws {
            let definition = PeripheralDefinition.lamp()
            let lamp = await world.radio.add(definition)
            let device = GatewayTopics.device(lamp.id)
            let uuid = try #require(
                definition.services.flatMap(\.characteristics).first { $0.properties.isSuperset(of: [.read, .write]) }
            ).uuid
            try await broker.run { mosquitto in
                _ = try await world.ble("gateway", "--config", try configuration()).run { gateway in
                    _ = try await broker.read(["ble/device/\(device)/state"], count: 1)
                    for value in ["01", "00"] {
                        for (command, answer) in [
                            (#"{"id": "w", "write": "\#(uuid)", "value": "\#(value)"}"#, #"{"id":"w","ok":true}"#),
                            (#"{"id": "r", "read": "\#(uuid)"}"#, #""id":"r","ok":true,"value":"\#(value)"}"#),
                        ] {
                            let result = try await broker.request(
                                "ble/device/\(device)/command", command, answer: "answers/7")
                            #expect(result.hasSuffix(answer + "\n"), "\(result)")
                        }
                    }
                    gateway.send(.terminate)
                }
            }
        }

        @Test func `a service manager is told that it is ready, lives and ends, and may itself end`() async throws {
            let thermometer = await world.radio.add(try Self.thermometer(1))
            await world.daemon.kill()
            let manager = try TestServiceManager(broker.path("notify"))
            manager.read()
            let tool = Tool(
                ["gateway", "--config", try configuration(), "--bus", world.bus.address],
                environment: [
                    "NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "1000000", "WATCHDOG_PID": nil,
                ])
            let result = try await tool.run { gateway in
                // There is neither a broker nor bluetoothd.
                try await manager.messages.until { $0.first?.hasPrefix("READY=1\nSTATUS=broker: ") == true }
                try await manager.messages.until { $0.count { $0.contains("WATCHDOG=1") } >= 3 }
                try await world.daemon.start()
                try await broker.run { mosquitto in
                    try await manager.messages.until {
                        $0.contains { $0.contains("STATUS=broker: connected; Bluetooth: on; 1 device") }
                    }
                    manager.close()
                    await thermometer.setAdvertisement(try Self.thermometer(2).advertisement)
                    let values = try await broker.read(["ble/device/c47c8d000001/state"], count: 2, format: "%p")
                    #expect(values.last?.contains(#""temperature":2"#) == true)
                }
                gateway.send(.terminate)
            }
            #expect(result.status == 0)
        }

        @Test func `the end begins with a message to the service manager`() async throws {
            let manager = try TestServiceManager("@\(broker.path("notify"))")
            manager.read()
            let tool = Tool(
                ["gateway", "--config", try configuration(), "--bus", world.bus.address],
                environment: ["NOTIFY_SOCKET": manager.address])
            let result = try await tool.run { gateway in
                try await manager.messages.until { !$0.isEmpty }
                gateway.send(.terminate)
                try await manager.messages.until { $0.last == "STOPPING=1" }
            }
            #expect(result.status == 0)
            #expect(!manager.messages.value.contains { $0.contains("WATCHDOG=1") })
        }

        @Test func `the check reads the certificates that are trusted`() async throws {
            let (config, authorities) = (broker.path("tls.json"), broker.path("ca.pem"))
            let text = #"{"id": "kitchen", "broker": {"tls": {"ca": "\#(authorities)"}}, "devices": {}}"#
            try text.write(toFile: config, atomically: true, encoding: .utf8)
            let missing = try await world.ble("gateway", "--check", "--config", config).run()
            #expect(missing.status == 64)
            #expect(missing.errors.contains("tls.json: broker.tls.ca: \(authorities) is not a readable file"))
            let made = try await TestProgram(
                "openssl",
                [
                    "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Test", "-keyout",
                    broker.path("ca.key"), "-out", authorities,
                ]
            ).run()
            #expect(made.status == 0, "\(made.errors)")
            #expect(try await world.ble("gateway", "--check", "--config", config).run().status == 0)
            try Data(contentsOf: URL(filePath: broker.path("ca.key"))).write(to: URL(filePath: authorities))
            let key = try await world.ble("gateway", "--check", "--config", config).run()
            #expect(key.status == 64)
            #expect(key.errors.contains("contains no certificate"))
        }

        @Test(.enabled(if: OtherPrograms.has("aiomqtt")))
        func `aiomqtt reads what is retained, and gets each answer with the correlation data of its command`()
            async throws
        {
            let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
            let device = GatewayTopics.device(strap.id)
            let text = """
                {"id": "kitchen", "broker": {"host": "127.0.0.1", "port": \(broker.port ?? 0)},
                 "devices": {"strap": {"address": "\(strap.id.rawValue)", "name": "Strap", "values": ["180f/2a19"]}}}
                """
            try text.write(toFile: broker.path("strap.json"), atomically: true, encoding: .utf8)
            try await broker.run { _ in
                _ = try await world.ble("gateway", "--config", broker.path("strap.json")).run { gateway in
                    // Once all values are known.
                    try await broker.until("battery_level", in: "homeassistant/device/ble_\(device)/config")
                    try await broker.until("battery_level", in: "ble/device/\(device)/state")
                    let session = try await OtherPrograms.mqttSession(port: try #require(broker.port), device: device)
                    let lines = try session.split(separator: "\n").map { try JSONReader.read(Data($0.utf8)) }
                    try expectRetained(Array(lines.prefix(4)), device)
                    let answer = #""fields":{"battery_level":90},"#
                    #expect(
                        lines.dropFirst(4).map(\.text) == [
                            #"{"answer":{\#(answer)"ok":true,"value":"5a"},"correlation":"00ff"}"#,
                            #"{"answer":{\#(answer)"id":"b","ok":true,"value":"5a"},"correlation":"7365636f6e64"}"#,
                            #"{"answer":{"error":"invalidArgument","message":"reed: unknown key; did you mean \"read\"?","ok":false},"correlation":"7468697264"}"#,
                        ])
                    gateway.send(.terminate)
                }
            }
        }

        /// Expects what aiomqtt has read, in the order of the topics.
        private func expectRetained(_ lines: [JSON], _ device: String) throws {
            let messages = lines.compactMap { line -> [String: JSON]? in
                if case .object(let message) = line { message } else { nil }
            }
            #expect(
                Set(messages.compactMap { $0["topic"]?.text }) == [
                    #""ble/gateway/kitchen/state""#, "\"ble/device/\(device)/availability\"",
                    "\"ble/device/\(device)/state\"", "\"homeassistant/device/ble_\(device)/config\"",
                ])
            #expect(messages.allSatisfy { $0["retained"] == true })
            for message in messages {
                let text = try #require(message["payload"]).text
                switch message["topic"] {
                case "ble/gateway/kitchen/state", .string("ble/device/\(device)/availability"):
                    #expect(text == #""online""#)
                case .string("ble/device/\(device)/state"): #expect(text.contains(#""battery_level":90"#))
                default: #expect(text.contains(#""dev":{"ids":"ble_\#(device)","name":"Strap"}"#))
                }
            }
        }

        @Test func `the page of a gateway has its devices, their history and its numbers`() async throws {
            _ = await world.radio.add(try Self.thermometer(-18.5))
            let port = try TestBroker.freePort()
            let text = """
                {"id": "kitchen", "broker": {"host": "127.0.0.1", "port": \(broker.port ?? 0)},
                 "history": {"file": "\(broker.path("history.sqlite"))"},
                 "devices": {"freezer": {"address": "C4:7C:8D:00:00:01", "name": "Freezer"}}}
                """
            try text.write(toFile: broker.path("page.json"), atomically: true, encoding: .utf8)
            func get(_ path: String) async throws -> String {
                let request = "GET \(path) HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
                return try await TestProgram(
                    "bash", ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; cat <&3"]
                ).run().output
            }
            try await broker.run { _ in
                _ = try await world.ble(
                    "gateway", "--config", broker.path("page.json"), "--http", "\(port)"
                ).run { gateway in
                    try await broker.until("-18.5", in: "ble/device/c47c8d000001/state")
                    let devices = try await get("/devices")
                    #expect(devices.contains(#""name":"Freezer""#), "\(devices)")
                    #expect(devices.contains(#""temperature":{"unit":"°C","value":-18.5}"#), "\(devices)")
                    #expect(try await get("/about").contains(#""history":true"#))
                    #expect(try await get("/metrics").contains("ble_gateway_devices 1"))
                    // It is written within a second.
                    var history = ""
                    try await gateway.until {
                        history = try await get("/history?device=c47c8d000001&field=temperature&hours=1")
                        #expect(history.contains("200 OK"), "\(history)")
                        return history.contains("-18.5]")
                    }
                    #expect(history.contains(#""unit":"°C""#))
                    gateway.send(.terminate)
                }
            }
        }

        @Test func `a mistake in the file is wrong usage, with its place`() async throws {
            let file = broker.path("wrong.json")
            try #"{"id": "kitchen", "device": {}}"#.write(toFile: file, atomically: true, encoding: .utf8)
            let result = try await world.ble("gateway", "--config", file).run()
            #expect(result.status == 64)
            #expect(result.errors.contains("wrong.json: device: unknown key; did you mean \"devices\"?"))
            let missing = try await world.ble("gateway", "--config", broker.path("none.json")).run()
            #expect(missing.status == 64)
            let checked = try await world.ble("gateway", "--check", "--config", try configuration()).run()
            #expect(checked.output.contains("2 devices"))
        }
    }
#endif
