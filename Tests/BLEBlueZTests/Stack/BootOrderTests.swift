import BLE
import BLEBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Programs that a boot starts before the bus, bluetoothd or the adapter.
@Suite(.startsProcesses, .hangLimit)
struct BootOrderTests {
    private func configuration() -> Central.Configuration {
        var configuration = Central.Configuration.quiet()
        configuration.waitsForBluetooth = true
        return configuration
    }

    @Test func `a central that waits comes up with bus, bluetoothd and adapter, one after the other`() async throws {
        let world = try await BlueZWorld()
        let battery = await world.radio.add(.battery())
        await world.daemon.kill()
        world.bus.stop()
        let starting = Task {
            try await Central(backend: .bluez(bus: world.bus.address), configuration: configuration())
        }
        try await world.bus.restart()
        await world.daemon.setPresent(false)
        try await world.daemon.start()
        await until { await world.daemon.calls["GetManagedObjects"] ?? 0 > 0 }
        await world.daemon.setPresent(true)
        let central = try await starting.value
        // Its peripherals have not been heard yet.
        #expect(try await central.peripheral(battery.id).read(.batteryLevel) == 90)
        await central.shutDown()
    }
}
