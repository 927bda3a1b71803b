import BLE
import BLEBTHome
import BLEDefinitions
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

@testable import BLECommand

/// `serve` and `advertise`, discovered and used by a central of the radio.
@Suite(.startsProcesses, .hangLimit)
struct ServeCommandTests {
    private let world: BlueZWorld

    init() async throws { world = try await BlueZWorld() }

    private func withCentral(_ check: (Central) async throws -> Void) async throws {
        let central = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        do {
            try await check(central)
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
    }

    @Test func `serve shows what centrals do, and leaves nothing behind`() async throws {
        let result = try await world.ble("serve", "heart-rate-strap", "--name", "Ours", "--json").afterFirstLine {
            program in
            try await withCentral { central in
                let strap = try await central.first(matching: .name("Ours"), timeout: HangLimit.step).peripheral
                var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
                let beat = try await beats.next()
                #expect(beat?.beatsPerMinute ?? 0 > 0)
            }
            // In either order: the one is a call of bluetoothd, the other a signal.
            try await program.output.until("\"disconnected\"")
            try await program.output.until("\"unsubscribed\"")
            program.send(.interrupt)
        }
        #expect(result.status == 130)
        let events = try result.objects.compactMap { $0["event"] as? String }
        #expect(events.first == "advertising")
        #expect(events.contains("subscribed"))
        #expect(events.contains("unsubscribed"))
        let (applications, advertisements) = await world.daemon.servedCounts
        #expect(applications == 0)
        #expect(advertisements == 0)
    }

    @Test func `a large definition that is being loaded can be interrupted`() async throws {
        let characteristic = #"{"uuid":"fff1","properties":["read"],"value":"00"}"#
        let service =
            #"{"uuid":"fff0","characteristics":["# + String(repeating: characteristic + ",", count: 9_999)
            + characteristic + "]}"
        let file = FileManager.default.temporaryDirectory.appending(path: "large-\(UUID()).json")
        try #"{"services":[\#(service),\#(service),\#(service)],"advertisedServices":[]}"#
            .write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let result = try await world.ble("serve", file.path).run { $0.send(.terminate) }
        #expect(result.status == 143)
        #expect(result.output == "")
        #expect(await world.daemon.servedCounts.applications == 0)
    }

    @Test func `serve sets the values that its input gives`() async throws {
        let tool = world.ble(
            "serve", "battery",
            input: """
                battery-level 32
                nonsense
                2a19 zz
                {"uuid": "2a19"}
                {"uuid": "2a19", "valeu": "01"}
                {"uuid": "battery-level", "service": "battery", "value": "28"}
                2a37 00

                """)
        let result = try await tool.afterFirstLine { program in
            try await program.errors.until("no characteristic 2a37")
            try await withCentral { central in
                let battery = try await central.first(matching: .service(.battery), timeout: HangLimit.step).peripheral
                let level = try await battery.read(.batteryLevel)
                #expect(level == 0x28)
            }
            program.send(.terminate)
        }
        #expect(result.status == 143)
        #expect(result.errors.contains("hexadecimal: nonsense"))
        #expect(result.errors.contains("hexadecimal: 2a19 zz"))
        #expect(result.errors.contains("value: is missing: {"))
        #expect(result.errors.contains("valeu: unknown key; did you mean \"value\"?"))
    }

    @Test func `serve goes on after bluetoothd has died`() async throws {
        let result = try await world.ble("serve", "battery").afterFirstLine { program in
            await world.daemon.kill()
            try await world.daemon.start()
            try await program.output.until("served again")
            try await program.output.until("advertising", after: "served again")
            program.send(.interrupt)
        }
        #expect(result.output.contains("not served now"))
    }

    @Test func `advertise shows the budget, and a scan receives the same data`() async throws {
        let beacon = "e2c56db5-dffb-48d2-b060-d0f5a71096e0"
        let result = try await world.ble("advertise", "--ibeacon", "\(beacon),1,61442,-59").afterFirstLine { program in
            try await withCentral { central in
                let found = try await central.first(matching: .custom { _ in true }, timeout: HangLimit.step)
                let bytes = Hex.bytes("0215" + beacon.replacing("-", with: "") + "0001f002c5")
                #expect(found.advertisement.manufacturerData[0x004C] == bytes)
                #expect(found.advertisement.isConnectable == false)
            }
            program.send(.interrupt)
        }
        #expect(result.errors.contains("manufacturer data 004c  27"))
    }

    @Test func `advertise sends a BTHome report, its objects in the order of their ids`() async throws {
        let result = try await world.ble(
            "advertise", "--bthome", "window=open", "--bthome", "temperature=21.5", "--bthome", "count=300", "--bthome",
            "button=double-press", "--bthome", "0x01=97"
        ).afterFirstLine { program in
            try await withCentral { central in
                let found = try await central.first(matching: .custom { _ in true }, timeout: HangLimit.step)
                let report = try BTHome.decode(found.advertisement)
                #expect(
                    report?.description
                        == "battery 97 %, temperature 21.5 °C, window open, button double press, count 300")
            }
            program.send(.interrupt)
        }
        #expect(result.status == 130)
    }

    @Test func `data that cannot be advertised are an error before anything starts`() async throws {
        for arguments in [
            ["--name", "This name is longer than 29 bytes"], ["--ibeacon", "1,2"], ["--seconds", "0"],
            ["--manufacturer", "ffff"], ["--eddystone-url", "not a url"],
            ["--ibeacon", "e2c56db5-dffb-48d2-b060-d0f5a71096e0,1,2", "--eddystone-url", "https://swift.org"],
            ["--eddystone-url", "https://swift.org", "--bthome", "battery=1"], ["--bthome", "temperature=9000"],
            ["--bthome", "temprature=1"], ["--bthome", "window=ajar"],
            ["--bthome", "battery=1", "--service-data", "fcd2:40"], [], ["--seconds", "5"], ["--ibeacon", "180d,1,2"],
            ["--ibeacon", "0000180d,1,2"],
        ] {
            let result = try await world.ble(["advertise"] + arguments).run()
            #expect(result.status == 64, "\(arguments): \(result.errors)")
        }
        #expect(await world.daemon.calls["RegisterAdvertisement"] == nil)
    }

    @Test(
        arguments: [
            (["--name", String(repeating: "x", count: 30)], "Shorten it by 1"),
            (["--manufacturer", "ffff:" + String(repeating: "00", count: 40)], "remove another field"),
            (["--seconds", "0", "--name", "x"], "--seconds is 0"), ([], "Add --name, --service"),
            (["--ibeacon", "180d,1,2"], "a UUID of 128 bits"),
            (["--service", "180d", "--service", "180d"], "--service contains"),
            (["--bthome", "temperature=hot"], "from -3276.8 to 3276.7 ("),
            (["--eddystone-url", "https://swift.org/\(String(repeating: "x", count: 40))"], ""),
        ])
    func `errors of advertise are in the tool's own words`(_ arguments: [String], _ message: String) async throws {
        let result = try await Tool(["advertise"] + arguments).run()
        #expect(result.status == 64)
        #expect(message.isEmpty || result.errors.contains(message), "\(result.errors)")
        for foreign in ["secondaryPHY", "`", "check the sender", "Check the sender", "nil"] {
            #expect(!result.errors.contains(foreign), "\(result.errors)")
        }
    }

    @Test(
        arguments: [
            ("temprature=21", "Did you mean \"temperature\"?"), ("door=maybe", "door takes closed, off, on, open."),
            ("battery=256", "battery takes a number from 0.0 to 255.0 (%)."),
            ("button=tripple", "button takes none, press, double-press"), ("firmware-version=1", "such as 1.2.3.4."),
            ("temperature", "such as temperature=21.5"),
        ])
    func `the error for an invalid BTHome object lists the valid ones`(_ argument: String, _ message: String)
        async throws
    {
        let result = try await world.ble("advertise", "--bthome", argument).run()
        #expect(result.status == 64)
        #expect(result.errors.contains(message), "\(result.errors)")
    }

    private static let file = """
        {
          "name": "Tank",
          "manufacturerData": { "ffff": "0102" },
          "serviceData": { "battery": "32" },
          "interval": [0.1, 0.2],
          "services": [
            {
              "uuid": "ff00",
              "characteristics": [
                {
                  "uuid": "ff01", "properties": ["read", "write"], "text": "full",
                  "descriptors": [{ "uuid": "2901", "text": "state" }]
                },
                { "uuid": "ff02", "properties": ["read", "notify"], "values": ["01", "02", "03"], "every": 0.01 }
              ]
            },
            { "uuid": "battery", "characteristics": [{ "uuid": "battery-level", "properties": ["read"], "value": "32" }] }
          ]
        }
        """

    private func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "definition-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(file.path(percentEncoded: false))
    }

    @Test func `serve takes a definition from a file`() async throws {
        try await withFile(Self.file) { file in
            let result = try await world.ble("serve", file, "--name", "Tub").afterFirstLine { program in
                try await withCentral { central in
                    let found = try await central.first(matching: .name("Tub"), timeout: HangLimit.step)
                    #expect(found.advertisement.manufacturerData == [0xFFFF: [1, 2]])
                    #expect(found.advertisement.serviceData == [.battery: [0x32]])
                    #expect(found.advertisement.serviceUUIDs == [BluetoothUUID(0xFF00), .battery])
                    let tank = found.peripheral
                    let state = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
                    let text = try await tank.read(state)
                    #expect(text == Array("full".utf8))
                    let name = try await tank.userDescription(of: state.key)
                    #expect(name == "state")
                    try await tank.write([1], to: state)
                    let written = try await tank.read(state)
                    #expect(written == [1])
                    let level = try await tank.read(.batteryLevel)
                    #expect(level == 50)
                    var values = try await tank.notifications(Characteristic<[UInt8]>(BluetoothUUID(0xFF02)))
                        .makeAsyncIterator()
                    for expected in [1, 2, 3, 1] as [UInt8] {
                        let value = try await values.next()
                        #expect(value == [expected])
                    }
                }
                program.send(.interrupt)
            }
            #expect(result.status == 130)
        }
    }

    @Test(
        arguments: [
            ("{", "not JSON"), ("[]", "not an object"), ("{}", "services: is missing"),
            (#"{"servises": []}"#, #"servises: unknown key; did you mean "services"?"#),
            (#"{"services": [{"uuid": "no-such"}]}"#, #"services[0].uuid: "no-such" is not"#),
            (
                #"{"services": [{"uuid": "180f", "characteristics": [{"uuid": "2a19", "properties": ["reed"]}]}]}"#,
                "services[0].characteristics[0].properties[0]: not one of"
            ),
            (
                #"{"services": [{"uuid": "180f", "characteristics": [{"uuid": "2a19", "properties": [], "value": "x"}]}]}"#,
                "services[0].characteristics[0].value: not bytes"
            ),
            (#"{"services": [], "appearance": 65536}"#, "appearance: not a number from 0 to 65535"),
            (#"{"services": [], "manufacturerData": {"ffff": "", "FFFF": ""}}"#, "the company occurs twice"),
            (
                #"{"services": [{"uuid": "180f", "characteristics": [{"uuid": "2a19", "properties": [], "value": "", "text": ""}]}]}"#,
                "text: \"value\" and \"text\" cannot be combined"
            ),
            (#"{"services": [], "interval": [0.2, 0.1]}"#, "interval: not the shortest and the longest time"),
            (#"{"services": [], "channels": [{"psm": 128, "every": 1}]}"#, "channels[0].every: there are no"),
            (#"{"services": [], "channels": [{"echo": true}]}"#, "channels[0].psm: is missing"),
            (#"{"services": [], "channels": [{"psm": 256}]}"#, "channels[0].psm: not a number from 1 to 255"),
            (#"{"services": [], "services": []}"#, "services: the key occurs twice"),
            (#"{"services": [],}"#, "a comma is before the end of the object"),
            (#"{"services": [], "serviceData": {"battery": "01", "180f": "02"}}"#, "the service occurs twice"),
            (#"{"services": [], "\u001b[8m\u009b\u202e": 1}"#, "\u{FFFD}[8m\u{FFFD}\u{FFFD}: unknown key"),
            (#"{"$schema": "x", "services": [{"uuid": "1800"}]}"#, "1800: the system serves this service itself"),
            (
                #"{"services": [{"uuid": "ff00", "handle": 9}, {"uuid": "ff01", "handle": 9}]}"#,
                "ff01: its handles overlap"
            ),
        ])
    func `an error in a definition contains its place`(_ text: String, _ message: String) async throws {
        try await withFile(text) { file in
            let result = try await world.ble("serve", file).run()
            #expect(result.status == 64)
            #expect(result.errors.contains(message), "\(result.errors)")
            // The usage is that of the command.
            #expect(result.errors.contains("ble serve") && !result.errors.contains("<subcommand>"))
        }
    }

    @Test func `serve shows reads and writes, with their values`() async throws {
        try await withFile(Self.file) { file in
            let result = try await world.ble("serve", file, "--name", "Tub", "--json").afterFirstLine { program in
                try await withCentral { central in
                    let tank = try await central.first(matching: .name("Tub"), timeout: HangLimit.step).peripheral
                    let state = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
                    try await tank.write([1, 2], to: state)
                    _ = try await tank.read(state)
                    _ = try await tank.userDescription(of: state.key)
                }
                try await program.output.until("\"2901\"")
                program.send(.interrupt)
            }
            let objects = try result.objects
            let write = try #require(objects.first { $0["event"] as? String == "written" })
            #expect(write["value"] as? String == "0102")
            #expect(write["uuid"] as? String == "ff01")
            #expect(write["service"] as? String == "ff00")
            #expect(write["error"] is NSNull)
            #expect((write["central"] as? String)?.isEmpty == false)
            let reads = objects.filter { $0["event"] as? String == "read" }
            #expect(reads.compactMap { $0["value"] as? String } == ["0102", Hex.string(Array("state".utf8))])
        }
    }

    private static let twins = """
        { "name": "Twins", "services": [
          { "uuid": "battery", "characteristics": [{ "uuid": "2a19", "properties": ["read"], "value": "01" }] },
          { "uuid": "battery", "characteristics": [{ "uuid": "2a19", "properties": ["read"], "value": "02" }] },
          { "uuid": "ff00", "characteristics": [{ "uuid": "2a19", "properties": ["read"], "value": "03" }] }
        ] }
        """

    @Test func `a line for one of several equal characteristics takes its number`() async throws {
        let input = """
            2a19 40
            2a19#2 41
            2a19#4 42
            {"uuid": "2a19", "service": "ff00", "value": "43"}
            {"uuid": "2a19", "service": "180f", "value": "44"}
            {"uuid": "2a19", "service": "180f", "number": 1, "value": "45"}
            2a37 00

            """
        try await withFile(Self.twins) { file in
            let result = try await world.ble(["serve", file], input: input).afterFirstLine { program in
                try await program.errors.until("no characteristic 2a37")
                try await withCentral { central in
                    let twins = try await central.first(matching: .name("Twins"), timeout: HangLimit.step).peripheral
                    var values: [[UInt8]] = []
                    for characteristic in try await twins.services().flatMap({ $0[all: BluetoothUUID(0x2A19)] }) {
                        values.append(try await twins.read(characteristic.key.bytes))
                    }
                    #expect(values == [[0x45], [0x41], [0x43]])
                }
                program.send(.interrupt)
            }
            #expect(result.errors.contains("the definition has 3 characteristics of type 2a19: add the number"))
            #expect(result.errors.contains("has 2 characteristics of type 2a19 in 180f"))
            #expect(result.errors.contains("only 3 characteristics of type 2a19"))
        }
    }

    private static let secret = """
        { "name": "Secret", "services": [{ "uuid": "ff00", "characteristics": [
          { "uuid": "ff01", "properties": ["read"], "security": "authenticated", "value": "01" }] }] }
        """

    @Test(
        arguments: [
            ([], "add --pairing"), (["--pairing", "no-input-no-output"], "has no numbers"),
            (["--pairing", "display-only"], nil),
        ] as [([String], String?)])
    func `security without an agent brings a warning, and an option brings an agent`(
        _ arguments: [String], _ warning: String?
    ) async throws {
        try await withFile(Self.secret) { file in
            let result = try await world.ble(["serve", file] + arguments).afterFirstLine { program in
                program.send(.interrupt)
            }
            #expect(result.errors.contains("warning:") == (warning != nil), "\(result.errors)")
            if let warning { #expect(result.errors.contains(warning)) }
            let isDefault = await world.daemon.calls["RequestDefaultAgent"] != nil
            #expect(isDefault == !arguments.isEmpty)
        }
    }

    @Test func `what needs no pairing is served without a warning`() async throws {
        let result = try await world.ble("serve", "battery").afterFirstLine { $0.send(.interrupt) }
        #expect(!result.errors.contains("warning"))
        #expect(try await Tool.run("serve", "battery", "--yes").status == 64)
    }

    @Test func `a definition has channels that return packets, and that send values`() async throws {
        let file = try DefinitionFile(
            json: Data(
                """
                { "services": [{ "uuid": "ff00", "handle": 256 }],
                  "channels": [
                    { "psm": 128, "echo": true }, { "psm": 129, "ramp": { "from": 7, "to": 9 }, "every": 0.01 }
                  ] }
                """.utf8))
        let id = await world.radio.add(file.definition).id
        try await withCentral { central in
            let tank = try await central.first(matching: .id(id), timeout: HangLimit.step)
                .peripheral
            #expect(try await tank.services().map(\.handle) == [256])
            let echo = try await tank.openChannel(0x0080)
            try await echo.send([1, 2, 3])
            var packets = echo.packets.makeAsyncIterator()
            let packet = try await packets.next()
            #expect(packet == [1, 2, 3])
            echo.close()
            let counter = try await tank.openChannel(0x0081)
            var counts = counter.packets.makeAsyncIterator()
            for expected in [7, 8, 9, 7] as [UInt8] {
                let count = try await counts.next()
                #expect(count == [expected])
            }
            counter.close()
        }
    }

    @Test func `the published schema has the keys that a definition can have`() throws {
        let schema = try JSONDecoder().decode(
            DefinitionSchema.self, from: Data(try Checkout.text("Docs/Definition.schema.json").utf8))
        let kinds = schema.definitions.compactMapValues { $0.properties?.keys.sorted() }
        #expect(kinds == DefinitionFile.keys.mapValues { $0.sorted() })
    }

    private struct DefinitionSchema: Decodable {
        struct Kind: Decodable {
            struct Property: Decodable {}
            let properties: [String: Property]?
        }
        let definitions: [String: Kind]

        enum CodingKeys: String, CodingKey { case definitions = "$defs" }
    }

    @Test func `an argument that is neither a name nor a file is an error`() async throws {
        let result = try await world.ble("serve", "stap").run()
        #expect(result.status == 64)
        #expect(result.errors.contains("nor one of: heart-rate-strap, battery, weather-station, lamp"))
        let long = try await world.ble("serve", "lamp", "--name", String(repeating: "x", count: 30)).run()
        #expect(long.status == 64)
        #expect(long.errors.contains("--name has up to 29 bytes"))
    }
}
