import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

@testable import BLEBlueZ

/// Scans that allow signals to come an hour late. So an event that arrives was not delayed.
@Suite(.startsProcesses, .hangLimit)
struct ScanToleranceTests {
    private let world: BlueZWorld
    private let central: Central
    private let scan: Task<Void, any Error>

    init() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.battery())
        let central = try await world.makeCentral()
        scan = Task {
            for try await _ in central.discoveryEvents(duplicates: true, staleAfter: nil, tolerance: .seconds(3600)) {}
        }
        await until { await world.daemon.isDiscovering }
        (self.world, self.central) = (world, central)
    }

    private func end() async {
        scan.cancel()
        await central.shutDown()
    }

    @Test func `links, services and values do not wait for it`() async throws {
        var definition = PeripheralDefinition.battery()
        definition.advertisement.localName = "Other"
        let other = await world.radio.add(definition)
        let peripheral = central.peripheral(other.id)
        try await peripheral.connect()
        let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))
        #expect(try await peripheral.read(level).count == 1)
        var levels = try await peripheral.notifications(level).makeAsyncIterator()
        for value in [UInt8(30), 40, 50] {
            await other.notify([value], from: level.uuid)
            while try await levels.next() != [value] {}
        }
        await end()
    }

    @Test func `what monitors wait for does not wait for it`() async throws {
        await world.daemon.offerMonitors()
        scan.cancel()
        await until { await !world.daemon.isDiscovering }
        let passive = Task {
            let events = central.discoveryEvents(matching: .passive, staleAfter: nil, tolerance: .seconds(3600))
            for try await _ in events {}
        }
        await until { await world.daemon.activations > 0 }
        passive.cancel()
        await end()
    }

    @Test func `bluetoothd does not hear of it`() async throws {
        _ = try await central.first(matching: .any)
        #expect(await world.daemon.calls["SetDiscoveryFilter"] == 1)
        #expect(await world.daemon.calls["StartDiscovery"] == 1)
        await end()
    }
}
