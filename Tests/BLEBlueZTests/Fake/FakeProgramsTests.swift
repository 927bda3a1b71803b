import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// Programs of other authors on the fake bluetoothd, which answers them as the real one does.
@Suite(.startsProcesses, .hangLimit, .enabled(if: OtherPrograms.python != nil))
struct FakeProgramsTests {
    @Test(arguments: [66, 82])
    func `bleak gets and hears what it does from the real bluetoothd`(_ minorVersion: Int) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        _ = await world.radio.add(SimulatedStrap().definition)
        let session = try await OtherPrograms.bleakSession(bus: world.bus.address)
        let difference = OtherPrograms.difference(session, try OtherPrograms.Recorded.bleak.session(minorVersion))
        #expect(difference == [], "\(difference.joined(separator: "\n"))")
        await world.daemon.kill()
    }

    @Test(arguments: [66, 82])
    func `what bluez-peripheral serves on one adapter, a central on another finds and uses`(_ minorVersion: Int)
        async throws
    {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        await world.daemon.addAdapter("hci1")
        let central = try await Central(
            backend: .bluez(adapter: "hci1", bus: world.bus.address), configuration: .quiet())
        let session = try await OtherPrograms.pythonPeripheralSession(bus: world.bus.address, central)
        let difference = OtherPrograms.difference(
            session, try OtherPrograms.Recorded.bluezPeripheral.session(minorVersion)
        )
        // The central has an agent, too, which keeps the adapter pairable when that of the program is gone.
        .filter { !$0.hasPrefix("-") || !$0.contains("{Pairable: ") }
        #expect(difference == [], "\(difference.joined(separator: "\n"))")
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test(arguments: [66, 82])
    func `bluetoothctl shows what it does of the real bluetoothd`(_ minorVersion: Int) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        _ = await world.radio.add(SimulatedStrap().definition)
        let session = try await OtherPrograms.bluetoothctlSession(bus: world.bus.address)
        #expect(OtherPrograms.difference(session, try OtherPrograms.Recorded.bluetoothctl.session(minorVersion)) == [])
        await world.daemon.kill()
    }
}
