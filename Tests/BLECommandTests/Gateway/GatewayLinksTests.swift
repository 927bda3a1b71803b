import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLECommand

/// Entries that stand for many peripherals, and have links to them.
@Suite(.hangLimit)
struct GatewayLinksTests {
    private let clock = ManualClock()
    private let radio: SimulatedRadio
    private let hub = MemoryHub()
    private let notes = SharedValue<[String]>([])

    init() async {
        radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
    }

    private static let heartRate = CharacteristicKey(characteristic: BluetoothUUID(0x2A37))
    private static let straps = ListedDevice(
        key: "straps", match: .service(BluetoothUUID(0x180D)), links: 2, values: [heartRate])

    private static func strap(_ number: Int, name: String = "Strap", rssi: Int = -50) -> PeripheralDefinition {
        var strap = PeripheralDefinition.heartRateStrap(name: name, beatsPerMinute: 70 + number)
        strap.address = "C4:7C:8D:00:00:0\(number)"
        strap.advertisement.rssi = rssi
        return strap
    }

    private static func topic(_ number: Int, _ part: String) -> String { "ble/device/c47c8d00000\(number)/\(part)" }

    private func rate(_ number: Int) -> Bool {
        hub.retained[Self.topic(number, "state")]?.contains(#""heart_rate_measurement_heart_rate":7\#(number)"#) == true
    }

    /// Runs a gateway on each adapter while the body runs.
    private func withGateways(
        _ ids: [String] = ["attic"], _ devices: [ListedDevice] = [straps], _ body: () async throws -> Void
    ) async throws {
        let (radio, clock, notes) = (radio, clock, notes)
        let gateways = ids.enumerated().map { index, id in
            var configuration = GatewayConfiguration(id: id)
            (configuration.isFleet, configuration.devices) = (ids.count > 1, devices)
            let gateway = Gateway(configuration, broker: hub.broker(id), clock: clock) { note in
                notes.change { $0.append(note) }
            }
            return Task(executorPreference: radio.taskExecutor) {
                try await gateway.run {
                    try await Central(
                        backend: .simulated(radio, adapter: "hci\(index)"), configuration: .quiet(clock: clock))
                }
            }
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        for gateway in gateways {
            gateway.cancel()
            _ = await gateway.result
        }
        try result.get()
    }

    @Test func `every strap has a link, and two of one name are two devices`() async throws {
        let straps = [await radio.add(Self.strap(1)), await radio.add(Self.strap(2))]
        _ = await radio.add(.lamp())
        try await withGateways {
            await clock.run(for: .seconds(20))
            for strap in straps { #expect(await strap.isConnected) }
            #expect(rate(1) && rate(2))
            #expect(hub.retained.keys.count { $0.hasSuffix("/availability") } == 2)
            for number in 1...2 {
                let announcement = hub.retained["homeassistant/device/ble_c47c8d00000\(number)/config"]
                #expect(announcement?.contains(#""name":"Strap""#) == true)
            }
        }
        for strap in straps { #expect(await strap.isConnected == false) }
    }

    @Test func `more straps than links wait for a place, and a lost link is made again`() async throws {
        let first = await radio.add(Self.strap(1, rssi: -40))
        let second = await radio.add(Self.strap(2, rssi: -50))
        let third = await radio.add(Self.strap(3, rssi: -60))
        try await withGateways {
            await clock.run(for: .seconds(20))
            #expect(await first.isConnected)
            #expect(await second.isConnected)
            #expect(await third.isConnected == false)
            // It is heard, and has no values of a link.
            #expect(hub.retained[Self.topic(3, "availability")] == "online")
            #expect(!rate(3))
            await first.setAdvertising(false)
            await first.dropLink()
            await clock.run(for: .seconds(20))
            #expect(await third.isConnected)
            #expect(rate(3))
            await first.setAdvertising(true)
            await second.remove()
            await clock.run(for: .seconds(20))
            #expect(await first.isConnected)
            #expect(await third.isConnected)
        }
    }

    @Test func `a strap that never answers does not keep the others waiting`() async throws {
        var only = Self.straps
        only.links = 1
        let deaf = await radio.add(Self.strap(1, rssi: -30))
        await deaf.setAcceptsLinks(false)
        _ = await radio.add(Self.strap(2, rssi: -60))
        try await withGateways(["attic"], [only]) {
            await clock.run(for: .seconds(60))
            #expect(rate(2))
            #expect(notes.value.count { $0.hasPrefix("straps: C4:7C:8D:00:00:01: ") } == 1, "\(notes.value)")
        }
    }

    @Test func `a strap that sends no value gives its place to the next one`() async throws {
        var only = Self.straps
        only.links = 1
        var silent = Self.strap(1, rssi: -30)
        silent.services = [.battery(level: 5)]
        _ = await radio.add(silent)
        _ = await radio.add(Self.strap(2, rssi: -60))
        try await withGateways(["attic"], [only]) {
            await clock.run(for: .seconds(50))
            #expect(!rate(2))
            await clock.run(for: .seconds(30))
            #expect(rate(2))
            await clock.run(for: .seconds(600))
            // One with values keeps its place.
            #expect(hub.retained[Self.topic(2, "availability")] == "online")
            #expect(rate(2))
        }
    }

    @Test func `a strap whose values have ended keeps its place only until another one waits for it`() async throws {
        var only = Self.straps
        only.links = 1
        var brief = Self.strap(1, rssi: -30)
        brief.services = [
            ServiceDefinition(
                BluetoothUUID(0x180D),
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0x2A37), .notify, onSubscribe: { await $0.notify([0, 71]) })
                ])
        ]
        let first = await radio.add(brief)
        try await withGateways(["attic"], [only]) {
            await clock.run(for: .seconds(300))
            #expect(rate(1))
            #expect(await first.isConnected)
            _ = await radio.add(Self.strap(2, rssi: -60))
            await clock.run(for: .seconds(80))
            #expect(await first.isConnected == false)
            #expect(rate(2))
        }
    }

    @Test func `a peripheral keeps its first entry, and has one link`() async throws {
        let named = ListedDevice(
            key: "named", match: .namePrefix("Strap"),
            values: [CharacteristicKey(characteristic: BluetoothUUID(0x2A19))])
        var definition = Self.strap(1)
        definition.advertisement.localName = nil
        let strap = await radio.add(definition)
        try await withGateways(["attic"], [Self.straps, named]) {
            await clock.run(for: .milliseconds(900))
            await strap.setAdvertisement(Self.strap(1).advertisement)
            await clock.run(for: .seconds(20))
            #expect(rate(1))
            let state = hub.retained[Self.topic(1, "state")] ?? ""
            #expect(!state.contains("battery"), "\(state)")
            #expect(hub.retained["ble/gateway/attic/device/c47c8d000001"] == "straps")
        }
    }

    @Test func `the same trouble with two straps is told once`() async throws {
        for number in 1...2 { await radio.add(Self.strap(number)).setAcceptsLinks(false) }
        try await withGateways {
            await clock.run(for: .seconds(120))
            #expect(notes.value.count { $0.hasPrefix("straps: ") } == 1, "\(notes.value)")
        }
    }

    @Test func `of two gateways, one has the link to each strap, and the other one when that one ends`() async throws {
        var every = Self.straps
        every.links = 4
        var straps: [SimulatedPeripheral] = []
        for number in 1...3 { straps.append(await radio.add(Self.strap(number))) }
        try await withGateways(["attic", "kitchen"], [every]) {
            await clock.run(for: .seconds(60))
            for (index, strap) in straps.enumerated() {
                #expect(await strap.isConnected)
                #expect(rate(index + 1))
                let topic = Self.topic(index + 1, "state")
                #expect(Set(hub.log.filter { $0.message.topic == topic }.map(\.gateway)).count == 1)
            }
            let count = hub.log.count
            hub.cut("attic")
            // Its grace is a minute. Then the straps advertise again.
            await clock.run(for: .seconds(180))
            for (index, strap) in straps.enumerated() {
                #expect(await strap.isConnected)
                let topic = Self.topic(index + 1, "state")
                let publishers = Set(hub.log.dropFirst(count).filter { $0.message.topic == topic }.map(\.gateway))
                #expect(publishers == ["kitchen"])
            }
        }
    }

    @Test func `a strap that advertises no name has the one that it tells on the link`() async throws {
        var strap = Self.strap(1)
        strap.advertisement.localName = nil
        strap.services.append(
            ServiceDefinition(
                BluetoothUUID(0x1800),
                characteristics: [
                    CharacteristicDefinition(BluetoothUUID(0x2A00), [.read], value: Array("Polar H10".utf8))
                ]))
        _ = await radio.add(strap)
        try await withGateways {
            await clock.run(for: .seconds(20))
            let announcement = hub.retained["homeassistant/device/ble_c47c8d000001/config"]
            #expect(announcement?.contains(#""name":"Polar H10""#) == true)
        }
    }
}
