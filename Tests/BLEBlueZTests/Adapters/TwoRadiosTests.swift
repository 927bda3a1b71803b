import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

@testable import BLEFakeBlueZ

extension FakeBlueZ {
    fileprivate func isConnecting(_ id: Peripheral.ID) -> Bool { devices[id]?.connecting != nil }
}

/// A central whose radios are two adapters of one bluetoothd.
@Suite(.startsProcesses, .hangLimit)
struct TwoRadiosTests {
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))

    private let world: BlueZWorld
    private let central: Central
    private let battery: SimulatedPeripheral

    init() async throws {
        world = try await BlueZWorld(minorVersion: 82)
        await world.daemon.addAdapter("hci1")
        battery = await world.radio.add(.battery())
        central = try await Central(
            radios: ["hci0", "hci1"].map { [bus = world.bus.address] in .bluez(adapter: $0, bus: bus) },
            configuration: .quiet())
    }

    @Test func `a maintained link moves when its adapter is taken out`() async throws {
        let found = try await central.first(matching: .id(battery.id), timeout: HangLimit.step).peripheral
        let values = Task {
            var all: [UInt8] = []
            for try await value in try await found.notifications(Self.level) {
                all += value
                if all.last == 9 { break }
            }
            return all
        }
        try await found.setConnectionPolicy(.maintained(backoff: Backoff(every: .milliseconds(10))))
        await until { await battery.subscriberCount(of: BluetoothUUID(0x2A19)) == 1 }
        let former = try #require(await found.radio)
        await battery.notify([1], from: BluetoothUUID(0x2A19))
        await world.daemon.adapter(former)?.setPresent(false)
        await until {
            let radio = await found.radio
            let count = await battery.subscriberCount(of: BluetoothUUID(0x2A19))
            return radio != nil && radio != former && count == 1
        }
        await battery.notify([9], from: BluetoothUUID(0x2A19))
        #expect(try await values.value.last == 9)
        #expect(await central.adapterState == .poweredOn)
        await central.shutDown()
        await until { await !battery.isConnected }
    }

    /// A central whose time the test moves, both radios of which hear the peripheral, and its paths, the best first.
    private func manualCentral() async throws -> (Central, ManualClock, [FakeBlueZ]) {
        await central.shutDown()
        let clock = ManualClock()
        let central = try await Central(
            radios: ["hci0", "hci1"].map { [bus = world.bus.address] in .bluez(adapter: $0, bus: bus) },
            configuration: .quiet(clock: clock))
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await central.peripheral(battery.id).radioPaths.filter { $0.age != nil }.count == 2 }
        let names = await central.peripheral(battery.id).radioPaths.map(\.radio)
        // It is in range of none from now on.
        for name in names { await battery.setStrength(nil, adapter: name) }
        scan.cancel()
        _ = await scan.result
        var daemons: [FakeBlueZ] = []
        for name in names { daemons.append(try #require(await world.daemon.adapter(name))) }
        return (central, clock, daemons)
    }

    @Test func `bluetoothd does not go on with an attempt whose time is over`() async throws {
        let (central, clock, daemons) = try await manualCentral()
        let peripheral = central.peripheral(battery.id)
        let attempt = Task { try await peripheral.connect(timeout: .seconds(60)) }
        await until { await daemons[0].isConnecting(battery.id) }
        await clock.sleepers(for: .seconds(5))
        clock.advance(by: .seconds(5))
        await until { await daemons[1].isConnecting(battery.id) }
        #expect(await !daemons[0].isConnecting(battery.id))
        await battery.setStrength(-50, adapter: daemons[0].name)
        #expect(await !battery.isConnected)
        await battery.setStrength(-50, adapter: daemons[1].name)
        try await attempt.value
        #expect(await peripheral.radio == daemons[1].name)
        await central.shutDown()
        await until { await !battery.isConnected }
    }

    @Test(arguments: [0, 1])
    func `bluetoothd does not go on with an attempt that was cancelled`(_ number: Int) async throws {
        let (central, clock, daemons) = try await manualCentral()
        let peripheral = central.peripheral(battery.id)
        let attempt = Task { try await peripheral.connect(timeout: .seconds(60)) }
        await until { await daemons[0].isConnecting(battery.id) }
        if number == 1 {
            await clock.sleepers(for: .seconds(5))
            clock.advance(by: .seconds(5))
            await until { await daemons[1].isConnecting(battery.id) }
        }
        attempt.cancel()
        await expectError(.cancelled) { try await attempt.value }
        // It returns when what was cancelled is over.
        try await peripheral.disconnect()
        for daemon in daemons { #expect(await !daemon.isConnecting(battery.id)) }
        for daemon in daemons { await battery.setStrength(-50, adapter: daemon.name) }
        #expect(await !battery.isConnected)
        // It can be connected to again.
        try await peripheral.connect()
        #expect(await battery.isConnected)
        await central.shutDown()
        await until { await !battery.isConnected }
    }

    @Test func `both adapters scan, and a peripheral that both hear is one`() async throws {
        let scan = Task {
            var ids: [Peripheral.ID] = []
            for try await found in central.discoveries() { ids.append(found.id) }
            return ids
        }
        await until { await world.daemon.discoveringAdapters == 2 }
        await until { await central.peripheral(battery.id).radioPaths.filter { $0.age != nil }.count == 2 }
        scan.cancel()
        _ = await scan.result
        let known = await central.knownPeripherals()
        #expect(known.filter { $0.id == battery.id }.count == 1)
        #expect(try await central.adapters().map(\.isInUse) == [true, true])
        await central.shutDown()
        await until { await world.daemon.discoveringAdapters == 0 }
    }
}
