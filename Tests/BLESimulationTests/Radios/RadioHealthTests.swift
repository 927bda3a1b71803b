import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Logging
import Testing

/// Radios of a central that hear nothing, or come and go.
@Suite(.hangLimit) struct RadioHealthTests {
    private let faults = SharedValue(StubbornBackend.Faults())

    /// A central with two radios, and a battery that only the first one hears.
    private func world(
        restart: Radio.Restart = .scan, failures: Int = 0
    ) async throws -> (central: Central, radio: SimulatedRadio, clock: ManualClock, battery: SimulatedPeripheral) {
        faults.change { $0.powerFailures = failures }
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
        let battery = await radio.add(.battery())
        await battery.setStrength(-60, adapter: "hci0")
        await battery.setStrength(nil, adapter: "hci1")
        var second = Radio(
            name: "hci1", backend: StubbornBackend(.simulated(radio, adapter: "hci1"), faults))
        second.restart = restart
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci0"), second], configuration: .quiet(clock: clock))
        return (central, radio, clock, battery)
    }

    private func text(_ event: RadioEvent) -> String {
        switch event {
        case .appeared(let radio): "\(radio) appeared"
        case .gone(let radio, let state): "\(radio) \(state)"
        case .scanFailed(let radio, let error): "\(radio) \(error.code)"
        case .silent(let radio, let time): "\(radio) silent \(time)"
        case .restarting(let radio, let part): "\(radio) restart \(part)"
        case .healed(let radio): "\(radio) healed"
        case .slotsChanged(let radio, let free): "\(radio) slots \(free ?? -1)"
        }
    }

    /// The events of the radios, as text, as they arrive.
    private func record(_ central: Central) async -> SharedValue<[String]> {
        let told = SharedValue<[String]>([])
        let events = await central.radioEvents()
        Task {
            for try await event in events {
                let text = text(event)
                told.change { $0.append(text) }
            }
        }
        return told
    }

    private func scan(_ central: Central, _ radio: SimulatedRadio) -> Task<Void, any Error> {
        Task(executorPreference: radio.taskExecutor) { for try await _ in central.discoveryEvents(staleAfter: nil) {} }
    }

    @Test func `a radio that cannot be used says why, and so does a central without a radio`() async throws {
        let radio = SimulatedRadio()
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci7"), .simulated(radio, adapter: "hci0")], configuration: .quiet())
        var obstacles = await central.radios.map(\.obstacle)
        #expect(obstacles.map(\.?.code) == [.adapterNotFound, nil])
        #expect(obstacles[0]?.message == "there is no adapter hci7")
        // One radio is enough.
        #expect(await central.obstacle == nil)
        await radio.setPowered(false)
        await until { await central.adapterState == .poweredOff }
        #expect(await central.obstacle?.code == .poweredOff)
        await radio.stop()
        await until { await central.adapterState == .resetting }
        obstacles = await central.radios.map(\.obstacle)
        #expect(obstacles.last??.code == .bluetoothLost)
        #expect(await central.obstacle?.code == .bluetoothLost)
        await radio.setPowered(true)
        await radio.restart()
        await until { await central.adapterState == .poweredOn }
        #expect(await central.radios.last?.obstacle == nil)
        #expect(await central.obstacle == nil)
        await central.shutDown()
    }

    @Test func `a radio that is silent while another hears has its scan restarted, and heals`() async throws {
        let (central, radio, clock, battery) = try await world()
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(85))
        #expect(told.value == [])
        #expect(await central.radios.map(\.isScanning) == [true, true])
        let fault = await radio.delay(.scan, .next(1), by: .seconds(1))
        await clock.run(for: .seconds(10))
        try await told.until { $0.count == 2 }
        #expect(told.value == ["hci1 silent 90.0 seconds", "hci1 restart scan"])
        #expect(await fault.count == 1)
        let radios = await central.radios
        #expect(radios.map(\.name) == ["hci0", "hci1"])
        #expect(radios.map(\.isScanning) == [true, true])
        #expect(radios.map(\.isSilent) == [false, true])
        #expect(radios.map { $0.age != nil } == [true, false])
        await battery.setStrength(-50, adapter: "hci1")
        await clock.run(for: .seconds(5))
        try await told.until { $0.last == "hci1 healed" }
        #expect(await central.radios.map(\.isSilent) == [false, false])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an adapter is powered off and on only if that is allowed, after its scan`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio)
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(200))
        try await told.until { $0.count == 5 }
        #expect(
            told.value == [
                "hci1 silent 90.0 seconds", "hci1 restart scan", "hci1 restart radio", "hci1 poweredOff",
                "hci1 appeared",
            ])
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an adapter that does not come on again is powered on again and again`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await clock.run(for: .seconds(10))
        try await told.until { $0.last == "hci1 appeared" }
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `a central that ends during a restart leaves the adapter on`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        // It does not wait for the pause before the next attempt.
        let time = clock.now
        await central.shutDown()
        #expect(clock.now == time)
        scan.cancel()
        let other = try await Central(
            backend: .simulated(radio, adapter: "hci1"), configuration: .quiet(clock: clock))
        #expect(await other.adapterState == .poweredOn)
        await other.shutDown()
    }

    @Test func `an adapter that the program switches off during a restart stays off`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        let off = Task(executorPreference: radio.taskExecutor) {
            try await central.setPowered(false, adapter: "hci1")
        }
        await clock.run(for: .seconds(300))
        try await off.value
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        try await central.setPowered(true, adapter: "hci1")
        await clock.run(for: .seconds(1))
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an attempt to connect waits for the radio that is restarted, and no longer`() async throws {
        let (central, radio, clock, battery) = try await world(restart: .radio, failures: 3)
        let peripheral = central.peripheral(battery.id)
        try await peripheral.setRadios(["hci1"])
        let scan = scan(central, radio)
        func attempt() -> Task<String?, any Error> {
            Task(executorPreference: radio.taskExecutor) {
                try await peripheral.connect(timeout: .seconds(3600))
                return await peripheral.radio
            }
        }
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await battery.setStrength(-50, adapter: "hci1")
        let first = attempt()
        await clock.run(for: .seconds(1))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await clock.run(for: .seconds(9))
        #expect(try await first.value == "hci1")
        try await peripheral.disconnect()
        // Silent again, and with a program that does not want it any longer.
        await battery.setStrength(nil, adapter: "hci1")
        faults.change { $0.powerFailures = 10 }
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        let second = attempt()
        await clock.run(for: .milliseconds(100))
        try await central.setPowered(false, adapter: "hci1")
        await expectError(.poweredOff) { _ = try await second.value }
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an adapter is switched off whatever the stacks of other radios say`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        faults.change { $0.isLost = true }
        #expect(try await central.adapters().map(\.id) == ["hci0", "hci1"])
        try await central.setPowered(false, adapter: "hci0")
        #expect(await central.radios.map(\.state) == [.poweredOff, .poweredOff])
        scan.cancel()
        await central.shutDown()
        // One that has no switch comes first.
        let other = SharedValue(StubbornBackend.Faults(isUnswitched: true))
        let proxy = Radio(name: "proxy", backend: StubbornBackend(.simulated(radio, adapter: "hci1"), other))
        let mixed = try await Central(
            radios: [proxy, .simulated(radio, adapter: "hci0")], configuration: .quiet(clock: clock))
        try await mixed.setPowered(true, adapter: "hci0")
        #expect(await mixed.radios.map(\.state).last == .poweredOn)
        await expectError(.notSupported) { try await mixed.setPowered(false, adapter: "hci1") }
        await mixed.shutDown()
    }

    @Test func `a scan that ends while it starts is started again after a pause`() async throws {
        let (central, radio, clock, _) = try await world()
        faults.change { $0.endedScans = 2 }
        let scan = scan(central, radio)
        await clock.run(for: .milliseconds(400))
        #expect(faults.value.scans == 1)
        #expect(await central.radios.map(\.isScanning) == [true, false])
        await clock.run(for: .seconds(5))
        #expect(faults.value.scans == 3)
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `a central has started when a radio is switched on while another does not answer`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
        await radio.setPowered(false, adapter: "hci0")
        faults.change { $0.isMute = true }
        let mute = Radio(name: "hci1", backend: StubbornBackend(.simulated(radio, adapter: "hci1"), faults))
        let making = Task(executorPreference: radio.taskExecutor) {
            try await Central(
                radios: [.simulated(radio, adapter: "hci0"), mute], configuration: .quiet(clock: clock))
        }
        await clock.run(for: .seconds(6))
        await radio.setPowered(true, adapter: "hci0")
        let central = try await making.value
        #expect(await central.radios.map(\.state) == [.poweredOn, .unavailable])
        #expect(await central.adapterState == .poweredOn)
        await central.shutDown()
    }

    @Test func `without a radio, the one that was lost last says why, with its name`() async throws {
        let (central, radio, _, _) = try await world()
        for order in [["hci0", "hci1"], ["hci1", "hci0"]] {
            for name in order {
                await radio.setPowered(false, adapter: name)
                await until { await central.radios.first { $0.name == name }?.state == .poweredOff }
            }
            #expect(await central.obstacle?.message == "radio \(order[1]): the adapter is switched off")
            for name in order { await radio.setPowered(true, adapter: name) }
            await until { await central.radios.allSatisfy { $0.state == .poweredOn } }
        }
        await central.shutDown()
    }

    @Test func `reasons of a radio that alternate are told once each until it is there`() async throws {
        let (busy, away) = (BLEError(.failed, "it is busy"), BLEError(.bluetoothUnavailable, "it is away"))
        faults.change { $0.startFailures = [busy, busy, away, busy, away, busy] }
        let (central, radio, clock, _) = try await world()
        #expect(await central.radios.last?.obstacle?.message == "it is busy")
        let told = await record(central)
        await clock.run(for: .seconds(20))
        try await told.until { $0.last == "hci1 appeared" }
        // The first reason is that of the status, and told when it follows another one.
        #expect(told.value == ["hci1 unavailable", "hci1 unavailable", "hci1 appeared"])
        #expect(faults.value.starts == 7)
        await radio.setPowered(false, adapter: "hci1")
        try await told.until { $0.last == "hci1 poweredOff" }
        await central.shutDown()
    }

    @Test func `the loss of a radio that was off is told when it follows another reason`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
        let stubborn = StubbornBackend(.simulated(radio, adapter: "hci1"), faults)
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci0"), Radio(name: "hci1", backend: stubborn)],
            configuration: .quiet(clock: clock))
        let told = await record(central)
        await radio.setPowered(false, adapter: "hci1")
        try await told.until { $0 == ["hci1 poweredOff"] }
        let (away, busy) = (BLEError(.bluetoothLost, "it is away"), BLEError(.bluetoothLost, "it is busy"))
        await stubborn.emit(.stackLost(away))
        for reason in [away, busy, away, busy, away] {
            faults.change { $0.stackObstacle = reason }
            await stubborn.emit(.radioChanged)
            await until { await central.radios.last?.obstacle?.message == reason.message }
        }
        faults.change { $0.stackObstacle = BLEError(.bluetoothLost, "it is gone") }
        await stubborn.emit(.radioChanged)
        try await told.until { $0.count >= 4 }
        #expect(told.value == ["hci1 poweredOff", "hci1 resetting", "hci1 resetting", "hci1 resetting"])
        await until { await central.radios.last?.obstacle?.message == "it is gone" }
        await central.shutDown()
    }

    @Test func `a radio that is none at the start is tried again every 30 s`() async throws {
        faults.change { $0.startFailures = Array(repeating: BLEError(.notSupported, "it is a lamp"), count: 4) }
        let (central, _, clock, _) = try await world()
        #expect(await central.radios.map(\.state) == [.poweredOn, .unavailable])
        await clock.run(for: .seconds(29))
        #expect(faults.value.starts == 2)
        for starts in 3...4 {
            await clock.run(for: .seconds(30))
            #expect(faults.value.starts == starts)
            #expect(await central.radios.last?.obstacle?.message == "it is a lamp")
        }
        await clock.run(for: .seconds(30))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOn])
        await central.shutDown()
    }

    @Test func `the first failure of a radio that was not waited for is reported`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
        faults.change { ($0.isMute, $0.startFailures) = (true, [BLEError(.failed, "not now")]) }
        let stubborn = StubbornBackend(.simulated(radio, adapter: "hci1"), faults)
        let backend = RadiosBackend([
            (name: "hci0", backend: SimulatedBackend.simulated(radio, adapter: "hci0")),
            (name: "hci1", backend: stubborn),
        ])
        let reports = SharedValue(0)
        let context = CentralContext(
            handleEvent: { if case .radioChanged = $0 { reports.change { $0 += 1 } } }, logger: Logger(label: "test"),
            clock: clock)
        let starting = Task(executorPreference: radio.taskExecutor) { try await backend.start(context) }
        await clock.run(for: .seconds(6))
        try await starting.value
        let former = reports.value
        await clock.run(for: .milliseconds(77_771_100))
        #expect(faults.value.starts == 1)
        #expect(reports.value == former + 1)
        await backend.shutDown()
    }

    @Test func `radios that go and come are told, and a scan for some services watches none`() async throws {
        let (central, radio, clock, _) = try await world()
        let told = await record(central)
        let scan = Task(executorPreference: radio.taskExecutor) {
            let events = central.discoveryEvents(matching: .service(BluetoothUUID(0x180F)), staleAfter: nil)
            for try await _ in events {}
        }
        await clock.run(for: .seconds(300))
        #expect(told.value == [])
        await radio.setPowered(false, adapter: "hci1")
        try await told.until { $0 == ["hci1 poweredOff"] }
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await radio.setPowered(true, adapter: "hci1")
        try await told.until { $0 == ["hci1 poweredOff", "hci1 appeared"] }
        scan.cancel()
        await central.shutDown()
    }

    @Test func `the events of radios end with the central, and at once for one radio`() async throws {
        let (central, radio, clock, _) = try await world()
        var events = await central.radioEvents().makeAsyncIterator()
        await central.shutDown()
        await #expect(throws: BLEError.self) { _ = try await events.next() }
        let one = try await Central(
            radios: [.simulated(radio, adapter: "hci0")], configuration: .quiet(clock: clock))
        var none = await one.radioEvents().makeAsyncIterator()
        #expect(try await none.next() == nil)
        #expect(await one.radios.isEmpty)
        await one.shutDown()
    }
}
