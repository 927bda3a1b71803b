import BLE
import BLEBTHome
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

@testable import BLECommand

/// `serve` and `advertise`, heard and used by a central of the radio.
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
                let strap = try await central.first(matching: .name("Ours"), timeout: .seconds(60)).peripheral
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
                let battery = try await central.first(matching: .service(.battery), timeout: .seconds(60)).peripheral
                let level = try await battery.read(.batteryLevel)
                #expect(level == 0x28)
            }
            program.send(.terminate)
        }
        #expect(result.status == 143)
        #expect(result.errors.contains("hexadecimal: nonsense"))
        #expect(result.errors.contains("hexadecimal: 2a19 zz"))
        #expect(result.errors.contains("value: is missing: {"))
        #expect(result.errors.contains("valeu: not known; is \"value\" meant?"))
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

    @Test func `advertise shows the budget, and is heard as what it says`() async throws {
        let beacon = "e2c56db5-dffb-48d2-b060-d0f5a71096e0"
        let result = try await world.ble("advertise", "--ibeacon", "\(beacon),1,61442,-59").afterFirstLine { program in
            try await withCentral { central in
                let found = try await central.first(matching: .custom { _ in true }, timeout: .seconds(60))
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
                let found = try await central.first(matching: .custom { _ in true }, timeout: .seconds(60))
                let report = try BTHome.decode(found.advertisement)
                #expect(
                    report?.description
                        == "battery 97 %, temperature 21.5 °C, window open, button double press, count 300")
            }
            program.send(.interrupt)
        }
        #expect(result.status == 130)
    }

    @Test func `what cannot be advertised is told before anything starts`() async throws {
        for arguments in [
            ["--name", "This name is longer than 29 bytes"], ["--ibeacon", "1,2"], ["--seconds", "0"],
            ["--manufacturer", "ffff"], ["--eddystone-url", "not a url"],
            ["--ibeacon", "e2c56db5-dffb-48d2-b060-d0f5a71096e0,1,2", "--eddystone-url", "https://swift.org"],
            ["--eddystone-url", "https://swift.org", "--bthome", "battery=1"], ["--bthome", "temperature=9000"],
            ["--bthome", "temprature=1"], ["--bthome", "window=ajar"],
            ["--bthome", "battery=1", "--service-data", "fcd2:40"],
        ] {
            let result = try await world.ble(["advertise"] + arguments).run()
            #expect(result.status == 64, "\(arguments): \(result.errors)")
        }
        #expect(await world.daemon.calls["RegisterAdvertisement"] == nil)
    }

    @Test(
        arguments: [
            ("temprature=21", "Is \"temperature\" meant?"), ("door=maybe", "door takes closed, off, on, open."),
            ("battery=256", "battery takes a number from 0.0 to 255.0 (%)."),
            ("button=tripple", "button takes none, press, double-press"), ("firmware-version=1", "such as 1.2.3.4."),
            ("temperature", "such as temperature=21.5"),
        ])
    func `a BTHome object that cannot be is told with what can`(_ argument: String, _ message: String) async throws {
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
                    let found = try await central.first(matching: .name("Tub"), timeout: .seconds(60))
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
            (#"{"servises": []}"#, #"servises: not known; is "services" meant?"#),
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
            (#"{"services": [], "manufacturerData": {"ffff": "", "FFFF": ""}}"#, "the company is there twice"),
            (
                #"{"services": [{"uuid": "180f", "characteristics": [{"uuid": "2a19", "properties": [], "value": "", "text": ""}]}]}"#,
                "text: \"value\" and \"text\" exclude each other"
            ),
            (#"{"services": [], "interval": [0.2, 0.1]}"#, "interval: not the shortest and the longest time"),
            (#"{"services": [], "channels": [{"psm": 128, "every": 1}]}"#, "channels[0].every: there are no"),
            (#"{"services": [], "channels": [{"echo": true}]}"#, "channels[0].psm: is missing"),
            (#"{"services": [], "channels": [{"psm": 256}]}"#, "channels[0].psm: not a number from 1 to 255"),
            (#"{"$schema": "x", "services": [{"uuid": "1800"}]}"#, "1800: the system serves this service itself"),
            (
                #"{"services": [{"uuid": "ff00", "handle": 9}, {"uuid": "ff01", "handle": 9}]}"#,
                "ff01: its handles overlap"
            ),
        ])
    func `a mistake in a definition is told with its place`(_ text: String, _ message: String) async throws {
        try await withFile(text) { file in
            let result = try await world.ble("serve", file).run()
            #expect(result.status == 64)
            #expect(result.errors.contains(message), "\(result.errors)")
        }
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
            let tank = try await central.first(matching: .id(id), timeout: .seconds(60))
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

    @Test func `what is neither a name nor a file is told`() async throws {
        let result = try await world.ble("serve", "stap").run()
        #expect(result.status == 64)
        #expect(result.errors.contains("nor one of: heart-rate-strap, battery, weather-station, lamp"))
    }
}
