import BLE
import BLEESPHome
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

@testable import BLECommand

/// Every command's JSON, against the published schema.
@Suite(.startsProcesses, .hangLimit)
struct OutputSchemaTests {
    /// Checks that each line is of a kind, and that each of `kinds` is there.
    private func check(
        _ text: String, _ kinds: [String], optional: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let schema = try OutputSchema()
        var missing = Set(kinds)
        for line in text.split(separator: "\n") {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let mistakes = (kinds + optional).map { (kind: $0, schema.mistakes(in: object, of: $0)) }
            let right = mistakes.filter { $0.1.isEmpty }.map(\.kind)
            #expect(!right.isEmpty, "\(mistakes) in \(line)", sourceLocation: sourceLocation)
            missing.subtract(right)
        }
        #expect(missing.isEmpty, "in: \(text)", sourceLocation: sourceLocation)
    }

    @Test(
        arguments: [
            ("adapters", ["adapters"]),
            ("inspect Simulated_Strap --values --guess", ["inspect"]), ("inspect Simulated_Lamp", ["inspect"]),
            ("inspect Simulated_Ear --values", ["inspect"]), ("read Simulated_Strap heart-rate-control-point", []),
            ("read Simulated_Strap battery-level", ["read"]), ("read Simulated_Lamp ff01 --guess", ["read"]),
            ("read Simulated_Ear 2a19/2904", ["read"]), ("write Simulated_Lamp ff01 1e", ["write"]),
            ("write Simulated_Lamp ff01 --uint8 30", ["write"]),
            ("expect Simulated_Strap battery-level 90%", ["expect"]),
            ("expect Simulated_Strap battery-level 91%", ["expect"]),
            ("expect Simulated_Strap heart-rate-control-point 01", []),
            ("notify Simulated_Strap 2a37 --count 2", ["notify"]),
            ("profile environmental-sensing Simulated_Weather --count 3", ["profile"]),
            ("profile device-information Simulated_Strap", ["profile"]),
            ("heart-rate Simulated_Strap --count 1", ["heart-rate"]), ("battery Simulated_Ear", ["battery"]),
            ("info Simulated_Strap", ["info"]), ("pair Simulated_Strap", ["pair"]),
            ("unpair Simulated_Strap", ["unpair"]),
            ("pair Simulated_Strap --yes --trust", ["pair"]),
        ])
    func `a command's lines are as the schema says`(_ command: String, _ kinds: [String]) async throws {
        let arguments = command.split(separator: " ").map { String($0).replacing("_", with: " ") }
        let result = try await Tool(arguments + ["--backend", "simulated", "--timeout", "600", "--json"]).run()
        #expect(result.output.isEmpty == kinds.isEmpty, "\(result.errors)")
        try check(result.output, kinds, optional: ["gap"])
        try check(result.errors, [], optional: ["failure", "note"])
    }

    @Test func `lines of a scan are, too`() async throws {
        let scan = Tool(["scan", "--duration", "0", "--duplicates", "--backend", "simulated", "--json"])
        try check(try await scan.afterFirstLine { $0.send(.interrupt) }.output, ["scan"])
    }

    @Test func `lines of radios are, too`() async throws {
        // A busy machine may hear nothing within a second.
        for duration in [1, 4, 16, 64] {
            let result = try await Tool.run(
                "radios", "--duration", "\(duration)", "--backend", "simulated", "--json")
            guard result.output.contains(#""path""#) || duration == 64 else { continue }
            return try check(result.output, ["radio", "path"])
        }
    }

    @Test func `packets of a channel, numbers and findings are, too`() async throws {
        let channel = Tool(
            ["channel", "Simulated Lamp", "--psm", "128", "--count", "1", "--backend", "simulated", "--json"],
            input: "0a\n")
        try check(try await channel.run().output, ["channel"])
        try check(try await Tool.run("numbers", "heart", "rate", "--json").output, ["numbers"])
        let folder = FileManager.default.temporaryDirectory.appending(path: "recordings-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let paths = ["2a19", "2a38"].map { folder.appending(path: $0).path }
        for (uuid, path) in zip(["2a19", "2a38"], paths) {
            _ = try await Tool.run("read", "Simulated Strap", uuid, "--backend", "simulated", "--record", path)
        }
        try check(try await Tool.run("diff", paths[0], paths[1], "--json").output, ["difference"])
        let world = try await BlueZWorld()
        try check(try await world.ble("doctor", "--json").run().output, ["doctor"])
    }

    private static let definition = """
        { "name": "Ours", "services": [{ "uuid": "ff00", "characteristics": [
          { "uuid": "ff01", "properties": ["read", "write", "notify"], "value": "01" }] }] }
        """

    @Test func `the events of links and of what is served are, too`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        let link = try await world.ble("connect", "Thing", "--json").afterFirstLine { _ in await thing.dropLink() }
        try check(link.output, ["connect"])
        try check(link.errors, ["failure"], optional: ["note"])
        let file = FileManager.default.temporaryDirectory.appending(path: "definition-\(UUID().uuidString).json")
        try Data(Self.definition.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let path = file.path(percentEncoded: false)
        let served = try await world.ble("serve", path, "--json").afterFirstLine { program in
            let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
            let lamp = try await central.first(matching: .name("Ours"), timeout: HangLimit.step).peripheral
            let state = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
            try await lamp.write([1], to: state)
            _ = try await lamp.read(state)
            let values = try await lamp.notifications(state)
            try await program.output.until("\"subscribed\"")
            _ = values
            await central.shutDown()
            try await program.output.until("\"disconnected\"")
            program.send(.interrupt)
        }
        try check(served.output, ["served", "subscription", "link", "hosting"])
        try check(served.errors, ["note"], optional: ["failure"])
    }

    @Test func `prompts of a pairing are, too`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.lock(), pairing: .display(Passkey(42)!))
        let result = try await world.ble("pair", "Lock", "--json", input: "none\n").run()
        #expect(result.status == 21)
        try check(result.errors, ["prompt", "failure"])
        #expect(try result.errorObjects.compactMap { $0["prompt"] }.count == 3)
    }

    #if DeviceCommands
        @Test func `the devices of a network are, too`() async throws {
            let world = try await BlueZWorld()
            let avahi = try await FakeAvahi(
                world.bus,
                services: [.init("attic", at: "10.0.0.7", ["mac=aabbccddeeff"]), .init("bare", at: "10.0.0.8", [])])
            // A busy machine may resolve nothing within a second.
            for duration in [1, 4, 16, 64] {
                let result = try await world.ble("radios", "--find", "--duration", "\(duration)", "--json").run()
                guard result.output.split(separator: "\n").count == 2 || duration == 64 else { continue }
                try check(result.output, ["foundProxy"])
                break
            }
            await avahi.stop()
        }

        @Test func `the events of a proxy are, too`() async throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "proxy-\(UUID().uuidString).key").path
            defer { try? FileManager.default.removeItem(atPath: file) }
            let tool = Tool([
                "proxy", "--backend", "simulated", "--json", "--host", "127.0.0.1", "--port", "0", "--key-file", file,
                "--links", "1",
            ])
            let result = try await tool.run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let port = UInt16(program.output.text.firstMatch(of: /"port":(\d+)/)?.1 ?? "") ?? 0
                let text = try String(contentsOfFile: file, encoding: .utf8)
                let key = try EncryptionKey(text.trimmingCharacters(in: .newlines))
                let central = try await Central(
                    backend: .esphome("127.0.0.1", port: port, key: key), configuration: .quiet())
                let strap = try await central.first(matching: .name("Simulated Strap"), timeout: HangLimit.step)
                    .peripheral
                try await strap.connect()
                let lamp = try await central.first(matching: .name("Simulated Lamp"), timeout: HangLimit.step)
                    .peripheral
                await #expect(throws: BLEError.self) { try await lamp.connect() }
                await central.shutDown()
                _ = try? await Central(backend: .esphome("127.0.0.1", port: port, key: nil), configuration: .quiet())
                try await program.output.until("\"clientRefused\"")
                try await program.output.until("\"clientDisconnected\"")
                // The link ends after its client has gone.
                try await program.output.until("\"disconnected\"")
                program.send(.interrupt)
            }
            try check(result.output, ["proxyKey", "proxy", "proxyClient", "proxyLink", "proxyRefusal"])
            for event in ["connected", "disconnected", "linkRefused"] {
                #expect(try result.objects.contains { $0["event"] as? String == event }, "\(result.output)")
            }
            try check(result.errors, ["note"])
        }

        @Test func `a link that a client of a proxy gives up is, too`() async throws {
            let world = try await BlueZWorld()
            let deaf = await world.radio.add(.battery(name: "Deaf"))
            await deaf.setAcceptsLinks(false)
            let tool = Tool(["proxy", "--bus", world.bus.address, "--json", "--no-encryption", "--port", "0"])
            let result = try await tool.run { program in
                try await program.output.until("\n", after: "\"listening\"")
                let port = UInt16(program.output.text.firstMatch(of: /"port":(\d+)/)?.1 ?? "") ?? 0
                let central = try await Central(
                    backend: .esphome("127.0.0.1", port: port, key: nil), configuration: .quiet())
                let found = try await central.first(matching: .name("Deaf"), timeout: HangLimit.step).peripheral
                // The first request may not have left before its time is up.
                while !program.output.text.contains("\"linkFailed\"") {
                    await #expect(throws: BLEError.self) { try await found.connect(timeout: .milliseconds(500)) }
                }
                await central.shutDown()
                program.send(.interrupt)
            }
            try check(result.output, ["proxy", "proxyClient", "proxyLink"])
            #expect(try !result.objects.contains { $0["event"] as? String == "disconnected" })
            await world.daemon.kill()
        }

        @Test(.enabled(if: OtherPrograms.has("websockets")))
        func `the events of a proxy for a Matter server are, too`() async throws {
            let world = try await BlueZWorld(isAsInstalled: true)
            let device = MatterDevice("C0:00:00:00:00:01")
            _ = await world.radio.add(device.definition)
            let result = try await OtherPrograms.matterSession(
                device: device.address.rawValue, bus: world.bus.address)
            try check(result.proxy, ["matterServer", "matterLink"])
            await world.daemon.kill()
        }

        @Test func `steps of the demonstration are, too`() async throws {
            try check(try await Tool(["demo", "lock", "--json"], time: .virtual).run().output, ["demo"])
        }
    #endif

    @Test func `the schema says when something is wrong`() throws {
        let schema = try OutputSchema()
        let time = "2026-03-01T12:00:00.000Z"
        let right: [String: Any] = ["version": 1, "time": time, "id": "X", "wasPaired": true]
        #expect(schema.mistakes(in: right, of: "unpair").isEmpty)
        for wrong in [
            right.merging(["wasPaired": 1]) { $1 }, right.merging(["other": 1]) { $1 }, right.filter { $0.key != "id" },
            right.merging(["time": "now"]) { $1 }, right.merging(["version": 2]) { $1 },
        ] {
            #expect(!schema.mistakes(in: wrong, of: "unpair").isEmpty)
        }
    }
}
