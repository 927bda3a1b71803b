import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport
@testable import DBus

/// A central and a host over a GDBusConnection that the program has.
@Suite(.startsProcesses, .hangLimit)
struct GDBusConnectionTests {
    private let world: BlueZWorld
    private let connection: GDBusReference
    private let battery: SimulatedPeripheral

    init() async throws {
        world = try await BlueZWorld()
        connection = world.bus.makeGDBusConnection()
        battery = await world.radio.add(.battery())
    }

    @Test func `a shutdown leaves nothing with bluetoothd, and the connection as it was`() async throws {
        let name = try #require(connection.uniqueName)
        for _ in 0..<2 {
            let bluez = BlueZConnection(gdbusConnection: connection.pointer)
            let central = try await Central(
                backend: bluez.makeCentral(), configuration: .quiet(pairing: .justWorks))
            let host = try await PeripheralHost(backend: bluez.makePeripheral(), configuration: .quiet())
            let serving = Task { try await host.serve(.battery()) }
            let strap = try await central.find(battery.id)
            let values = try await strap.notifications(.batteryLevel)
            let scan = Task { for try await _ in central.discoveries() {} }
            await until { await world.daemon.isDiscovering }
            await until { await world.daemon.servedCounts.advertisements == 1 }
            #expect(await world.daemon.agentOwners == [name])
            await host.shutDown()
            await central.shutDown()
            _ = await (scan.result, serving.result)
            #expect(await world.daemon.agentOwners.isEmpty)
            #expect(await world.daemon.notifying.isEmpty)
            #expect(await !world.daemon.isDiscovering)
            #expect(await world.daemon.servedCounts == (0, 0))
            #expect(await !battery.isConnected)
            #expect(!connection.isClosed)
            withExtendedLifetime(values) {}
        }
    }

    @Test func `the loss of the bus is reported, and a shutdown does not wait for its return`() async throws {
        let central = try await Central(
            backend: BlueZConnection(gdbusConnection: connection.pointer).makeCentral(), configuration: .quiet())
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        world.bus.stop()
        #expect(try await states.next() == .resetting)
        #expect(connection.isClosed)
        await central.shutDown()
    }
}
