import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Scans for a service.
@Suite(.startsProcesses, .hangLimit)
struct ServiceFilterTests {
    /// bluetoothd 5.87 crashes at a filter with services.
    @Test(arguments: [66, 87]) func `a scan for a service finds what has it, and bluetoothd survives`(
        _ minorVersion: Int
    ) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion)
        _ = await world.radio.add(.lamp())
        let battery = await world.radio.add(.battery())
        let central = try await world.makeCentral()
        let found = try await central.first(matching: .service(.battery))
        #expect(found.peripheral.id == battery.id)
        #expect(await world.daemon.serviceFilters.isEmpty == (minorVersion == 87))
        await central.shutDown()
    }
}
