import BLE
import BLEBTHome
import BLEBeacons
import BLEDefinitions
import BLESimulation
import BLETestSupport
import BLETesting
import FoundationEssentials
import Testing

@testable import BLECommand

@Suite(.hangLimit)
struct GatewayTests {
    private let world: SimulatedWorld
    private let broker = MemoryBroker()

    init() async throws { world = try await SimulatedWorld() }

    private static let key = "ble/device/c47c8d000001"
    private static let address = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")

    private func configuration(_ devices: [ListedDevice]) -> GatewayConfiguration {
        var configuration = GatewayConfiguration(id: "kitchen")
        configuration.devices = devices
        return configuration
    }

    /// Runs a gateway while the body runs, and ends it.
    private func withGateway(
        _ devices: [ListedDevice], central: Central? = nil, note: @escaping @Sendable (String) -> Void = { _ in },
        _ body: () async throws -> Void
    ) async throws {
        let gateway = Gateway(configuration(devices), broker: broker, clock: world.clock, note: note)
        let central = central ?? world.central
        let run = Task(executorPreference: world.radio.taskExecutor) { try await gateway.run { central } }
        await until { broker.filters.count == 3 }
        broker.send(.connected)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        run.cancel()
        _ = await run.result
        try result.get()
        #expect(broker.retained["ble/gateway/kitchen/state"] == "offline")
        #expect(broker.hasEnded)
    }

    private static func thermometer(_ value: Double, address: String = "C4:7C:8D:00:00:01") throws
        -> PeripheralDefinition
    {
        var advertisement = Advertisement(localName: "Thermometer")
        try BTHome([try BTHomeObject(try #require(BTHomeKind(id: 2)), value: value)]).encode(into: &advertisement)
        return PeripheralDefinition(
            address: address, advertisement: advertisement, advertisingInterval: .seconds(10), services: [])
    }

    @Test func `a listed thermometer is published, and what is not listed is not`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            _ = await world.radio.add(try Self.thermometer(-18.5))
            _ = await world.radio.add(try Self.thermometer(21, address: "C4:7C:8D:00:00:02"))
            await world.clock.run(for: .seconds(30))
            #expect(broker.retained["\(Self.key)/state"]?.contains(#""temperature":-18.5"#) == true)
            #expect(broker.retained["\(Self.key)/availability"] == "online")
            #expect(broker.retained["ble/gateway/kitchen/state"] == "online")
            #expect(!broker.retained.keys.contains { $0.contains("c47c8d000002") })
        }
    }

    @Test func `a peripheral with a private address never becomes a device by its name`() async throws {
        try await withGateway([ListedDevice(key: "all", match: .name("Thermometer"))]) {
            for number in 0..<50 {
                let address = "4\(number % 10):00:00:00:00:\(number < 10 ? "0" : "")\(number)"
                _ = await world.radio.add(try Self.thermometer(1, address: address))
            }
            _ = await world.radio.add(try Self.thermometer(1))
            await world.clock.run(for: .seconds(60))
            #expect(broker.retained.keys.count { $0.hasSuffix("/availability") } == 1)
        }
    }

    @Test func `a radio that is missing is noted with the reason, and when it can be used`() async throws {
        let radios = ["hci0", "hci7"].map { Radio.simulated(world.radio, adapter: $0) }
        let central = try await Central(radios: radios, configuration: .quiet(clock: world.clock))
        let notes = SharedValue<[String]>([])
        let device = ListedDevice(key: "freezer", match: .address(Self.address))
        try await withGateway([device], central: central, note: { note in notes.change { $0.append(note) } }) {
            try await notes.until { $0.contains("radio hci7: there is no adapter hci7") }
            await world.radio.addAdapter("hci7")
            await world.clock.run(for: .seconds(60))
            try await notes.until { $0.contains("radio hci7: it can be used") }
            #expect(notes.value.count { $0.hasPrefix("radio ") } == 2)
        }
    }

    @Test func `a device that is silent becomes unavailable, and available again`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address), expiry: .seconds(60))]) {
            let thermometer = await world.radio.add(try Self.thermometer(4))
            await world.clock.run(for: .seconds(30))
            await thermometer.setAdvertising(false)
            await world.clock.run(for: .seconds(90))
            #expect(broker.retained["\(Self.key)/availability"] == "offline")
            await thermometer.setAdvertising(true)
            await world.clock.run(for: .seconds(30))
            #expect(broker.retained["\(Self.key)/availability"] == "online")
        }
    }

    @Test func `values of a maintained link are published, before and after it is lost`() async throws {
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let device = GatewayTopics.device(strap.id)
        let keys = [BluetoothUUID(0x2A37), BluetoothUUID(0x2A19)].map { CharacteristicKey(characteristic: $0) }
        try await withGateway([ListedDevice(key: "strap", match: .address(strap.id), values: keys)]) {
            await world.clock.run(for: .seconds(10))
            let state = try #require(broker.retained["ble/device/\(device)/state"])
            #expect(state.contains(#""battery_level":"#))
            #expect(state.contains(#""heart_rate_measurement_heart_rate":72"#))
            await strap.dropLink()
            await world.clock.run(for: .seconds(10))
            broker.clear()
            await world.clock.run(for: .seconds(120))
            #expect(broker.log.contains { $0.topic == "ble/device/\(device)/state" })
            #expect(await strap.isConnected)
        }
    }

    @Test func `a link has the values of its profiles, and tells once which service is missing`() async throws {
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let device = GatewayTopics.device(strap.id)
        let profiles = [0x180D, 0x180F, 0x180A, 0x1809].map { BluetoothUUID($0) }
        let notes = SharedValue<[String]>([])
        let entry = ListedDevice(key: "strap", match: .address(strap.id), profiles: profiles)
        try await withGateway([entry], note: { note in notes.change { $0.append(note) } }) {
            await world.clock.run(for: .seconds(10))
            let state = try #require(broker.retained["ble/device/\(device)/state"])
            for value in [
                #""battery_level":90"#, #""heart_rate_measurement_heart_rate":72"#,
                #""manufacturer_name_string":"Simulated""#, #""model_number_string":"Strap""#,
            ] { #expect(state.contains(value), "\(state)") }
            #expect(!state.contains("control_point"))
            for _ in 0..<3 {
                await strap.dropLink()
                await world.clock.run(for: .seconds(30))
            }
            #expect(await strap.isConnected)
            let missing = notes.value.filter { $0.hasPrefix("strap: ") }
            #expect(missing == ["strap: no service Health Thermometer"])
        }
    }

    @Test func `a device that is away for long is not told of, and has its values when it comes`() async throws {
        let notes = SharedValue<[String]>([])
        let entry = ListedDevice(
            key: "strap", match: .address(Self.address), profiles: [BluetoothUUID(0x180D)])
        try await withGateway([entry], note: { note in notes.change { $0.append(note) } }) {
            await world.clock.run(for: .seconds(7200))
            var strap = PeripheralDefinition.heartRateStrap(beatsPerMinute: 72)
            strap.address = Self.address.rawValue
            _ = await world.radio.add(strap)
            await world.clock.run(for: .seconds(600))
            let state = broker.retained["\(Self.key)/state"]
            #expect(state?.contains(#""heart_rate_measurement_heart_rate":72"#) == true)
            #expect(notes.value.filter { $0.hasPrefix("strap: ") } == [])
        }
    }

    @Test func `a characteristic has a format of one's own`() async throws {
        let service = BluetoothUUID(0xFF00)
        let key = CharacteristicKey(characteristic: BluetoothUUID(0xFF01))
        let meter = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Meter"),
                services: [
                    ServiceDefinition(
                        service,
                        characteristics: [
                            CharacteristicDefinition(BluetoothUUID(0xFF01), [.read], value: [0xD5, 0x00, 0x80])
                        ])
                ]))
        let text = """
            {"fields": {"temperature": {"at": 0, "type": "i16", "factor": 0.1, "unit": "°C"},
              "leak": {"at": 2, "type": "bit", "bit": 7}}}
            """
        let format = try DataLayout(Entry(text: Data(text.utf8)))
        let entry = ListedDevice(key: "meter", match: .address(meter.id), values: [key], formats: [key: format])
        try await withGateway([entry]) {
            await world.clock.run(for: .seconds(10))
            let state = broker.retained["ble/device/\(GatewayTopics.device(meter.id))/state"]
            #expect(state?.contains(#""leak":true"#) == true)
            #expect(state?.contains(#""temperature":21.3"#) == true)
            // A command has it, too.
            command(#"{"read": "ff01"}"#, device: GatewayTopics.device(meter.id))
            try await asTimePasses { answers().count == 1 }
            #expect(
                answers()[0].payload == #"{"fields":{"leak":true,"temperature":21.3},"ok":true,"value":"d50080"}"#)
        }
    }

    @Test func `a device with private addresses stays one device, among strangers`() async throws {
        let bytes = try #require(Hex.bytes("ec0234a357c8ad05341010a60a397d9b"))
        let key = try #require(IdentityResolvingKey(bytes))
        let watch = await world.radio.add(try Self.thermometer(0))
        await watch.setIdentityKey(key)
        var addresses: Set<String> = []
        try await withGateway([ListedDevice(key: "watch", match: .identity(key))]) {
            for number in 1...5 {
                addresses.insert(await watch.rotateAddress().rawValue)
                await watch.setAdvertisement(try Self.thermometer(Double(number)).advertisement)
                await watch.setAdvertising(true)
                _ = await world.radio.add(try Self.thermometer(99, address: "41:00:00:00:00:0\(number)"))
                await world.clock.run(for: .seconds(120))
                let state = broker.retained["ble/device/private_watch/state"]
                #expect(state?.contains(#""temperature":\#(number)"#) == true)
                await watch.setAdvertising(false)
                await world.clock.run(for: .seconds(120))
            }
            #expect(addresses.count == 5)
            #expect(
                broker.retained.keys.filter { $0.hasSuffix("/availability") } == [
                    "ble/device/private_watch/availability"
                ])
            #expect(broker.retained["ble/device/private_watch/availability"] == "online")
            // The watch does not advertise any longer.
            command(#"{"id": "away", "read": "2a19"}"#, device: "private_watch")
            try await asTimePasses { answers().contains { $0.payload.contains(#""id":"away","message""#) } }
            expectSecret(["ec0234a357c8ad05341010a60a397d9b"] + addresses)
        }
    }

    private static func text(_ address: [UInt8]) -> String {
        address.map { Hex.string([$0]) }.joined(separator: ":")
    }

    /// Expects that no message has one of these hexadecimal numbers, in lowercase or uppercase, and with or without
    /// characters between the digits.
    private func expectSecret(_ secrets: [String]) {
        func digits(_ text: String) -> String { text.lowercased().filter { $0.isLetter || $0.isNumber } }
        #expect(!broker.log.isEmpty)
        for message in broker.log {
            for secret in secrets {
                #expect(!digits(message.topic + " " + message.payload).contains(digits(secret)), "\(message)")
            }
        }
    }

    @Test func `a command for a device with private addresses goes to its latest one`() async throws {
        let bytes = [UInt8](repeating: 3, count: 16)
        let key = try #require(IdentityResolvingKey(bytes))
        let address = Self.text(key.address(random: 77))
        var lamp = PeripheralDefinition.battery(level: 40)
        lamp.address = address
        _ = await world.radio.add(lamp)
        try await withGateway([ListedDevice(key: "lamp", match: .identity(key))]) {
            await world.clock.run(for: .seconds(30))
            command(#"{"id": "r", "read": "2a19"}"#, device: "private_lamp")
            try await asTimePasses { answers().count == 1 }
            #expect(answers()[0].payload.contains(#""battery_level":40"#))
            command(#"{"read": "2a38"}"#, device: "private_lamp")
            try await asTimePasses { answers().count == 2 }
            #expect(answers()[1].payload.contains(#""ok":false"#))
            expectSecret([address, Hex.string(bytes)])
        }
    }

    @Test func `a press of a button reaches a subscriber once`() async throws {
        try await withGateway([ListedDevice(key: "button", match: .address(Self.address))]) {
            let button = await world.radio.add(try Self.button(.none, packet: 1))
            await world.clock.run(for: .seconds(30))
            #expect(broker.retained["homeassistant/device/ble_c47c8d000001/config"]?.contains("event-button") == true)
            for packet in 2...4 {
                await button.setAdvertisement(try Self.button(.press, packet: Int64(packet)).advertisement)
                await world.clock.run(for: .seconds(60))
            }
            let events = broker.log.filter { $0.topic == "\(Self.key)/event/button" }
            #expect(events.map(\.payload) == Array(repeating: #"{"event_type":"press"}"#, count: 3))
            #expect(broker.retained["\(Self.key)/event/button"] == nil)
        }
    }

    private static func button(_ event: BTHomeButton, packet: Int64) throws -> PeripheralDefinition {
        var advertisement = Advertisement(localName: "Button", rssi: -60)
        try BTHome([
            try BTHomeObject(try #require(BTHomeKind(id: 0)), .number(packet)),
            try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(event)),
        ]).encode(into: &advertisement)
        return PeripheralDefinition(
            address: "C4:7C:8D:00:00:01", advertisement: advertisement, advertisingInterval: .milliseconds(200),
            services: [])
    }

    @Test func `Home Assistant's start has everything published again`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            _ = await world.radio.add(try Self.thermometer(4))
            await world.clock.run(for: .seconds(30))
            broker.clear()
            broker.send(ReceivedMessage(topic: "homeassistant/status", payload: Array("online".utf8)))
            await until { world.clock.sleeperCount >= 3 }
            await world.clock.run(for: .seconds(4))
            #expect(broker.log.contains { $0.topic == "homeassistant/device/ble_c47c8d000001/config" })
        }
    }

    @Test func `what the gateway has published is found below its own topic`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            _ = await world.radio.add(try Self.thermometer(4))
            await world.clock.run(for: .seconds(30))
            #expect(broker.retained["ble/gateway/kitchen/device/c47c8d000001"] == "freezer")
            broker.send(
                ReceivedMessage(topic: "ble/gateway/kitchen/device/a1", payload: Array("gone".utf8), isRetained: true))
            await until { broker.filters.contains("ble/device/a1/origin") }
            #expect(!broker.filters.contains("ble/device/+/origin"))
        }
    }

    @Test func `a device whose entry is gone or another is removed, and that of another gateway is not`() async throws {
        let key = try #require(IdentityResolvingKey([UInt8](repeating: 3, count: 16)))
        let entries = [
            ListedDevice(key: "freezer", match: .address(Self.address)), ListedDevice(key: "tags", match: .company(1)),
            ListedDevice(key: "watch", match: .identity(key)),
        ]
        try await withGateway(entries) {
            let devices = [
                ("a2", "attic", "gone"), ("c47c8d000001", "kitchen", "freezer"), ("b1", "kitchen", "tags"),
                ("private_watch", "kitchen", "watch"),
                // Those that are removed.
                ("a3", "kitchen", "freezer"), ("private_freezer", "kitchen", "freezer"), ("a4", "kitchen", "watch"),
                ("private_tags", "kitchen", "tags"), ("a1", "kitchen", "gone"),
            ]
            for (device, gateway, entry) in devices {
                let origin = #"{"gateway":"\#(gateway)","entry":"\#(entry)"}"#
                broker.send(
                    ReceivedMessage(topic: "ble/device/\(device)/origin", payload: Array(origin.utf8), isRetained: true)
                )
            }
            broker.send(ReceivedMessage(topic: "ble/device/a5/origin", payload: [0xFF, 0]))
            await until { broker.log.contains { $0.topic == "ble/device/a1/origin" } }
            await world.clock.run(for: .seconds(1))
            let removed = broker.log.filter { $0.payload.isEmpty }.map(\.topic)
            #expect(
                removed.filter { $0.hasSuffix("/origin") }
                    == ["a3", "private_freezer", "a4", "private_tags", "a1"].map { "ble/device/\($0)/origin" })
            #expect(
                removed.suffix(5) == [
                    "homeassistant/device/ble_a1/config", "ble/device/a1/state", "ble/device/a1/availability",
                    "ble/device/a1/origin", "ble/gateway/kitchen/device/a1",
                ])
        }
    }

    // MARK: Commands

    private func command(
        _ text: String, device: String = "c47c8d000001", isRetained: Bool = false, responseTopic: String = "answers/1"
    ) {
        broker.send(
            ReceivedMessage(
                topic: "ble/device/\(device)/command", payload: Array(text.utf8), isRetained: isRetained,
                responseTopic: responseTopic, correlation: [7]))
    }

    private func answers() -> [GatewayMessage] { broker.log.filter { $0.topic == "answers/1" } }

    @Test func `a command reads and writes, and its answer has the correlation`() async throws {
        let lamp = await world.radio.add(.lamp())
        let device = GatewayTopics.device(lamp.id)
        let writable = try await world.writable(lamp.id)
        try await withGateway([ListedDevice(key: "lamp", match: .address(lamp.id))]) {
            command(#"{"id": "w", "write": "\#(writable)", "value": "01"}"#, device: device)
            try await asTimePasses { answers().count == 1 }
            command(#"{"id": "r", "read": "\#(writable)"}"#, device: device)
            try await asTimePasses { answers().count == 2 }
            #expect(answers()[0].payload == #"{"id":"w","ok":true}"#)
            #expect(answers()[1].payload.contains(#""id":"r","ok":true,"value":"01"}"#))
            #expect(answers().allSatisfy { $0.correlation == [7] && !$0.isRetained })
        }
    }

    private func asTimePasses(_ holds: () -> Bool) async throws {
        for _ in 0..<1000 where !holds() { await world.clock.run(for: .seconds(1)) }
        try #require(holds())
    }

    @Test(arguments: [
        ("", "c47c8d000001", nil), ("{", "c47c8d000001", "invalidArgument"), ("[]", "c47c8d000001", "invalidArgument"),
        (#"{"read": "2a19", "write": "2a19"}"#, "c47c8d000001", "invalidArgument"),
        (#"{"read": "2a19", "value": "00"}"#, "c47c8d000001", "invalidArgument"),
        (#"{"write": "2a19"}"#, "c47c8d000001", "invalidArgument"),
        (#"{"subscribe": "2a19", "seconds": 0}"#, "c47c8d000001", "invalidArgument"),
        (#"{"read": "2a19", "seconds": 1}"#, "c47c8d000001", "invalidArgument"),
        (#"{"reed": "2a19"}"#, "c47c8d000001", "invalidArgument"),
        (#"{"read": "2a19"}"#, "unknown", nil),
    ])
    func `a command that is wrong gets an error`(text: String, device: String, code: String?) async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            command(text, device: device)
            command(#"{"id": "last", "read": "x"}"#)
            try await asTimePasses { answers().count == (code == nil ? 1 : 2) }
            guard let code else { return }
            #expect(answers().contains { $0.payload.contains(#""error":"\#(code)""#) && !$0.payload.contains("last") })
        }
    }

    @Test func `a retained command is not performed`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            command(#"{"read": "2a19"}"#, isRetained: true)
            command(#"{"id": "last", "read": "x"}"#)
            try await asTimePasses { answers().count == 1 }
            await world.clock.run(for: .seconds(60))
            #expect(answers().count == 1)
        }
    }

    @Test func `a subscription sends values while another command is performed, and ends`() async throws {
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let device = GatewayTopics.device(strap.id)
        try await withGateway([ListedDevice(key: "strap", match: .address(strap.id))]) {
            command(#"{"id": "s", "subscribe": "2a37", "seconds": 30}"#, device: device)
            try await asTimePasses { answers().count == 3 }
            command(#"{"id": "r", "read": "2a19"}"#, device: device)
            try await asTimePasses { answers().contains { $0.payload.contains(#""id":"r","ok":true"#) } }
            try await asTimePasses { answers().last?.payload == #"{"id":"s","ok":true}"# }
            let values = answers().filter { $0.payload.contains(#""heart_rate_measurement_heart_rate":72"#) }
            #expect(values.count >= 25)
            for value in values {
                #expect(value.payload.contains(#""id":"s""#))
                #expect(!value.payload.contains(#""ok":"#))
            }
            await world.clock.run(for: .seconds(5))
            #expect(await strap.isConnected == false)
        }
    }

    @Test func `commands beyond eight for a device are refused while it does not answer`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            for number in 0..<20 { command(#"{"id": "\#(number)", "read": "2a19"}"#) }
            await until { answers().count { $0.payload.contains(#""error":"busy""#) } == 12 }
            try await asTimePasses { answers().count == 20 }
        }
    }

    @Test func `commands for a device are performed in order, and a result in a topic of a gateway goes to its own`()
        async throws
    {
        let lamp = await world.radio.add(.lamp())
        let device = GatewayTopics.device(lamp.id)
        let key = try await world.writable(lamp.id)
        try await withGateway([ListedDevice(key: "lamp", match: .address(lamp.id))]) {
            for value in 0..<8 {
                command(
                    #"{"id": "\#(value)", "write": "\#(key)", "value": "0\#(value % 2)"}"#, device: device,
                    responseTopic: "ble/gateway/kitchen/state")
            }
            let results = { broker.log.filter { $0.topic == "ble/device/\(device)/result" } }
            try await asTimePasses { results().count == 8 }
            #expect(results().map(\.payload) == (0..<8).map { #"{"id":"\#($0)","ok":true}"# })
            #expect(broker.retained["ble/gateway/kitchen/state"] == "online")
            // The link that a command has made ends.
            await world.clock.run(for: .seconds(5))
            #expect(await lamp.isConnected == false)
        }
    }

    // MARK: Bad luck

    @Test func `a device that an earlier run has published, and that is not heard, is unavailable`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            let origin = #"{"gateway":"kitchen","entry":"freezer"}"#
            broker.send(
                ReceivedMessage(topic: "\(Self.key)/origin", payload: Array(origin.utf8), isRetained: true))
            await world.clock.run(for: .seconds(1))
            #expect(broker.retained["\(Self.key)/availability"] == "offline")
            _ = await world.radio.add(try Self.thermometer(4))
            await world.clock.run(for: .seconds(30))
            broker.send(
                ReceivedMessage(topic: "\(Self.key)/origin", payload: Array(origin.utf8), isRetained: true))
            await world.clock.run(for: .seconds(1))
            #expect(broker.retained["\(Self.key)/availability"] == "online")
        }
    }

    @Test func `a gateway runs for a week`() async throws {
        try await withGateway([ListedDevice(key: "freezer", match: .address(Self.address))]) {
            let thermometer = await world.radio.add(try Self.thermometer(0))
            for day in 0..<7 {
                await thermometer.setAdvertisement(try Self.thermometer(Double(day)).advertisement)
                if day == 3 { await world.radio.setPowered(false) }
                if day == 4 { await world.radio.setPowered(true) }
                await world.clock.run(for: .seconds(86_400))
                let availability = broker.retained["\(Self.key)/availability"]
                #expect(availability == (day == 3 ? "offline" : "online"))
                if day != 3 {
                    #expect(broker.retained["\(Self.key)/state"]?.contains(#""temperature":\#(day)}"#) == true)
                }
                broker.clear()
            }
        }
    }
}

extension SimulatedWorld {
    /// The first characteristic of a peripheral that can be read and written. Leaves no link.
    fileprivate func writable(_ id: Peripheral.ID) async throws -> BluetoothUUID {
        let peripheral = central.peripheral(id)
        let database = try await peripheral.services()
        try await peripheral.disconnect()
        return try #require(
            database.flatMap(\.characteristics).first { $0.properties.isSuperset(of: [.read, .write]) }
        ).uuid
    }
}
