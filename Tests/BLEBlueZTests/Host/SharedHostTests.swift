import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import DBus
import Testing

@testable import BLEBlueZ

/// Two roles on one host: one session, one adapter, one recovery.
@Suite(.startsProcesses, .hangLimit)
struct SharedHostTests {
    private let world: BlueZWorld
    private let host: BlueZHost
    private let first: Central
    private let second: Central
    private let battery: SimulatedPeripheral

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
        let host = BlueZHost(adapter: nil, address: .address(world.bus.address))
        self.host = host
        async let first = Central(backend: BlueZCentral(host), configuration: .quiet(pairing: .justWorks))
        async let second = Central(backend: BlueZCentral(host), configuration: .quiet())
        (self.first, self.second) = try await (first, second)
    }

    @Test func `they share one session, also when they start at once`() async throws {
        #expect(await world.daemon.calls["GetManagedObjects"] == 1)
        #expect(try await first.find().id == battery.id)
        #expect(try await second.find().read(.batteryLevel) == 90)
        await first.shutDown()
        await second.shutDown()
        #expect(await host.session == nil)
    }

    @Test func `one that leaves takes nothing from the other`() async throws {
        let strap = try await second.find()
        try await strap.connect()
        await first.shutDown()
        #expect(try await strap.read(.batteryLevel) == 90)
        await second.shutDown()
    }

    @Test func `both hear of a loss, and both come back`() async throws {
        var states = [
            await first.adapterStates().makeAsyncIterator(), await second.adapterStates().makeAsyncIterator(),
        ]
        // The first has an agent.
        try await first.find().connect()
        #expect(await world.daemon.calls["RegisterAgent"] == 1)
        await world.daemon.kill()
        try await world.daemon.start()
        for index in states.indices {
            #expect(try await states[index].next() == .poweredOn)
            #expect(try await states[index].next() == .resetting)
            #expect(try await states[index].next() == .poweredOn)
        }
        // Renewed before the return is reported.
        #expect(await world.daemon.calls["RegisterAgent"] == 2)
        #expect(await world.daemon.calls["GetManagedObjects"] == 2)
        await first.shutDown()
        await second.shutDown()
    }

    @Test func `the agent of one that has left is not renewed`() async throws {
        var states = await second.adapterStates().makeAsyncIterator()
        try await first.find().connect()
        await first.shutDown()
        await world.daemon.kill()
        try await world.daemon.start()
        var seen: [AdapterState] = []
        while seen.last != .poweredOn || seen.count < 3, let state = try await states.next() { seen.append(state) }
        #expect(await world.daemon.calls["RegisterAgent"] == 1)
        await second.shutDown()
    }

    @Test func `a host opens again for a role that comes later`() async throws {
        await first.shutDown()
        await second.shutDown()
        let third = try await Central(backend: BlueZCentral(host), configuration: .quiet())
        #expect(try await third.find().read(.batteryLevel) == 90)
        await third.shutDown()
    }
}
