import BLE
import BLEBTHome
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLECommand

/// Two gateways on two adapters of one radio, and on one broker.
@Suite(.hangLimit)
struct FleetGatewayTests {
    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let hub = MemoryHub()

    init() async {
        radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
    }

    private static let device = "c47c8d000001"
    private static let address = Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")
    private static let state = "ble/device/c47c8d000001/state"

    private func thermometer() throws -> PeripheralDefinition {
        var advertisement = Advertisement(localName: "Thermometer", rssi: -60)
        try BTHome([try BTHomeObject(try #require(BTHomeKind(id: 2)), value: 4)]).encode(into: &advertisement)
        return PeripheralDefinition(
            address: Self.address.rawValue, advertisement: advertisement, advertisingInterval: .seconds(1),
            services: [])
    }

    /// Runs a gateway, until the task is cancelled.
    private func gateway(_ id: String, _ devices: [ListedDevice]) -> Task<Void, any Error> {
        var configuration = GatewayConfiguration(id: id)
        (configuration.isFleet, configuration.devices) = (true, devices)
        let gateway = Gateway(configuration, broker: hub.broker(id), clock: clock) { _ in }
        let (radio, clock) = (radio, clock)
        return Task(executorPreference: radio.taskExecutor) {
            try await gateway.run {
                try await Central(
                    backend: .simulated(radio, adapter: id == "attic" ? "hci0" : "hci1"),
                    configuration: .quiet(clock: clock))
            }
        }
    }

    private func withGateways(
        _ devices: [ListedDevice],
        _ body: (_ attic: Task<Void, any Error>, _ kitchen: Task<Void, any Error>) async throws
            -> Void
    ) async throws {
        let both = [gateway("attic", devices), gateway("kitchen", devices)]
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(both[0], both[1]))
        } catch {
            result = .failure(error)
        }
        for one in both {
            one.cancel()
            _ = await one.result
        }
        try result.get()
    }

    /// The gateways that have published a device's state since a number of messages.
    private func publishers(_ topic: String = state, since count: Int = 0) -> Set<String> {
        Set(hub.log.dropFirst(count).filter { $0.message.topic == topic }.map(\.gateway))
    }

    @Test func `a device is published by one gateway, and by the other when that one ends`() async throws {
        try await withGateways([ListedDevice(key: "freezer", match: .address(Self.address))]) { attic, _ in
            _ = await radio.add(try thermometer())
            await clock.run(for: .seconds(70))
            #expect(publishers() == ["attic"])
            #expect(Set(hub.retained.keys.filter { $0.hasPrefix("ble/seen/") }).count == 2)
            let count = hub.log.count
            attic.cancel()
            _ = await attic.result
            await clock.run(for: .seconds(8))
            #expect(publishers(since: count) == ["kitchen"])
            #expect(hub.retained["ble/device/\(Self.device)/availability"] == "online")
            #expect(hub.retained["ble/device/\(Self.device)/origin"]?.contains("kitchen") == true)
        }
    }

    @Test func `a gateway that loses the broker publishes nothing until it knows the owners again`() async throws {
        try await withGateways([ListedDevice(key: "freezer", match: .address(Self.address))]) { _, _ in
            let thermometer = await radio.add(try thermometer())
            await clock.run(for: .seconds(10))
            hub.cut("attic")
            await clock.run(for: .seconds(8))
            let count = hub.log.count
            await clock.run(for: .seconds(300))
            hub.connect("attic")
            await clock.run(for: .seconds(70))
            #expect(publishers(since: count) == ["kitchen"])
            // What it hears is told again.
            #expect(
                hub.log.dropFirst(count).contains { $0.gateway == "attic" && $0.message.topic.hasPrefix("ble/seen/") })
            await thermometer.setAdvertising(false)
            await clock.run(for: .seconds(400))
            #expect(hub.retained["ble/device/\(Self.device)/availability"] == "offline")
        }
    }

    @Test func `a pinned gateway publishes the device`() async throws {
        var entry = ListedDevice(key: "freezer", match: .address(Self.address))
        entry.gateway = "kitchen"
        try await withGateways([entry]) { _, _ in
            _ = await radio.add(try thermometer())
            await clock.run(for: .seconds(70))
            #expect(publishers() == ["kitchen"])
        }
    }

    @Test func `one gateway has the link to a device with values, and the next one when that one ends`() async throws {
        let strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
        let id = GatewayTopics.device(strap.id)
        let keys = [CharacteristicKey(characteristic: BluetoothUUID(0x2A37))]
        let topic = "ble/device/\(id)/state"
        try await withGateways([ListedDevice(key: "strap", match: .address(strap.id), values: keys)]) { attic, _ in
            await clock.run(for: .seconds(60))
            #expect(publishers(topic) == ["attic"])
            #expect(hub.retained[topic]?.contains(#""heart_rate_measurement_heart_rate":72"#) == true)
            #expect(await strap.isConnected)
            let count = hub.log.count
            attic.cancel()
            _ = await attic.result
            await clock.run(for: .seconds(30))
            #expect(publishers(topic, since: count) == ["kitchen"])
            #expect(await strap.isConnected)
            #expect(hub.retained["ble/seen/\(id)/kitchen"]?.contains(#""linked":true"#) == true)
        }
    }

    @Test func `a link ends when another gateway claims its device`() async throws {
        let strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
        let id = GatewayTopics.device(strap.id)
        let keys = [CharacteristicKey(characteristic: BluetoothUUID(0x2A37))]
        try await withGateways([ListedDevice(key: "strap", match: .address(strap.id), values: keys)]) { _, kitchen in
            kitchen.cancel()
            _ = await kitchen.result
            await clock.run(for: .seconds(20))
            #expect(await strap.isConnected)
            // A third one, which only the broker knows.
            let porch = hub.broker("porch")
            _ = porch.events()
            porch.publish(GatewayMessage(topic: "ble/gateway/porch/state", payload: "online"))
            porch.publish(
                GatewayMessage(topic: "ble/seen/\(id)/porch", payload: #"{"interval":1,"pinned":true,"rssi":-60}"#))
            porch.publish(
                GatewayMessage(topic: "ble/device/\(id)/origin", payload: #"{"entry":"strap","gateway":"porch"}"#))
            await clock.run(for: .seconds(30))
            #expect(await strap.isConnected == false)
            await porch.shutDown()
        }
    }

    @Test func `a command is performed by one gateway`() async throws {
        let lamp = await radio.add(.lamp())
        let id = GatewayTopics.device(lamp.id)
        try await withGateways([ListedDevice(key: "lamp", match: .address(lamp.id))]) { attic, _ in
            await clock.run(for: .seconds(10))
            hub.command(#"{"id":"1","read":"2a00"}"#, to: id)
            await clock.run(for: .seconds(60))
            attic.cancel()
            _ = await attic.result
            await clock.run(for: .seconds(10))
            hub.command(#"{"id":"2","read":"2a00"}"#, to: id)
            await clock.run(for: .seconds(60))
            let results = hub.log.filter { $0.message.topic == "ble/device/\(id)/result" }
            #expect(results.map(\.gateway) == ["attic", "kitchen"])
        }
    }
}
