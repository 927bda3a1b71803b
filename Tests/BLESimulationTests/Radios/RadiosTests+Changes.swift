import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

/// Radios that come and go, and those that cannot be used together.
extension RadiosTests {
    @Test func `a radio that is not there yet is used when it is`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci5"), .simulated(radio, adapter: "hci0")],
            configuration: .quiet(clock: clock))
        #expect(await central.adapterState == .poweredOn)
        let battery = await radio.add(.battery())
        await battery.setStrength(nil, adapter: "hci0")
        let found = Task(executorPreference: radio.taskExecutor) {
            try await central.first(matching: .id(battery.id), timeout: .seconds(120))
        }
        await clock.run(for: .seconds(10))
        await radio.addAdapter("hci5")
        await clock.run(for: .seconds(40))
        #expect(try await found.value.radio == "hci5")
        await central.shutDown()
    }

    @Test func `a scan goes on with the radio that remains, and again with one that comes back`() async throws {
        let (world, battery, grip) = try await worldWithBattery([-60, nil])
        await world.radio.setPowered(false, adapter: "hci1")
        let radios = Task(executorPreference: world.radio.taskExecutor) {
            var radios: [String] = []
            for try await event in world.central.discoveryEvents(duplicates: true, staleAfter: nil) {
                guard case .updated(let found) = event, let radio = found.radio else { continue }
                if radio != radios.last { radios.append(radio) }
                if radios.count == 2 { break }
            }
            return radios
        }
        await world.clock.run(for: .seconds(5))
        await world.radio.setPowered(true, adapter: "hci1")
        await grip.setStrength(-60, adapter: "hci1")
        await world.clock.run(for: .seconds(5))
        await grip.setStrength(nil, adapter: "hci0")
        await world.clock.run(for: .seconds(20))
        #expect(try await radios.value == ["hci0", "hci1"])
        #expect(await battery.radioPaths.first?.radio == "hci1")
        await world.central.shutDown()
    }

    @Test func `a peripheral that another radio takes over is not lost, and one that none hears is`() async throws {
        let (world, _, grip) = try await worldWithBattery([-60, -50])
        let events = SharedValue<[String]>([])
        let scan = Task(executorPreference: world.radio.taskExecutor) {
            for try await event in world.central.discoveryEvents(duplicates: true, staleness: .learned) {
                switch event {
                case .updated(let found):
                    let radio = found.radio ?? ""
                    events.change { if $0.last != radio { $0.append(radio) } }
                case .lost: events.change { $0.append("lost") }
                case .found, .waiting: break
                }
            }
        }
        await world.clock.run(for: .seconds(30))
        #expect(events.value == ["hci0"])
        await grip.setStrength(nil, adapter: "hci0")
        await world.clock.run(for: .seconds(60))
        #expect(events.value == ["hci0", "hci1"])
        await grip.setStrength(nil, adapter: "hci1")
        await world.clock.run(for: .seconds(60))
        #expect(events.value == ["hci0", "hci1", "lost"])
        scan.cancel()
        await world.central.shutDown()
    }

    @Test func `a central without any radio throws the first one's error`() async throws {
        let radio = SimulatedRadio(clock: ManualClock())
        await expectError(.adapterNotFound) {
            _ = try await Central(
                radios: [.simulated(radio, adapter: "hci5"), .simulated(radio, adapter: "hci6")],
                configuration: .quiet(clock: radio.clock))
        }
        await radio.setAuthorized(false)
        await expectError(.unauthorized) {
            _ = try await Central(
                radios: [.simulated(radio, adapter: "hci0"), .simulated(radio, adapter: "hci6")],
                configuration: .quiet(clock: radio.clock))
        }
    }

    @Test(arguments: [[], ["hci0", "hci0"]])
    func `radios without a name of their own are refused`(_ names: [String]) async throws {
        let radio = SimulatedRadio(clock: ManualClock())
        await expectError(.invalidArgument) {
            _ = try await Central(
                radios: names.map { .simulated(radio, adapter: $0) }, configuration: .quiet(clock: radio.clock))
        }
    }

    @Test func `radios of different executors are refused`() async throws {
        let clock = ManualClock()
        let (one, other) = (SimulatedRadio(clock: clock), SimulatedRadio(clock: clock))
        await expectError(.invalidArgument) {
            _ = try await Central(
                radios: [.simulated(one, adapter: "hci0"), Radio(name: "b", backend: .simulated(other))],
                configuration: .quiet(clock: clock))
        }
    }
}
