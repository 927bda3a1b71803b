import BLE
import BLEBackendTesting
import BLEBlueZ
import BLEFakeBlueZ
import BLEFirmware
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

    @Test(.enabled(if: OtherPrograms.has("smpclient")), arguments: [66, 82])
    func `smpclient updates a device on another adapter, although it disconnects three times, and uses the rest`(
        _ minorVersion: Int
    ) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        await world.daemon.addAdapter("hci1")
        let storage = MemoryFirmwareStorage(.init(primary: FirmwareImage(version: FirmwareVersion(1, 0), program: [1])))
        let device = FirmwarePeripheral(
            storage, applicationInfo: "the fake",
            onExecute: { .init(output: $0.joined(separator: " "), returnCode: 3) },
            onReset: { _ in try await storage.reset() })
        let host = try await PeripheralHost(backend: .bluez(adapter: "hci1", bus: world.bus.address))
        try await host.withServed(device.definition(name: "Updatable")) { _ in
            let session = try await OtherPrograms.firmwareSession(
                name: "Updatable", adapter: "hci0", length: 100_000, bus: world.bus.address)
            #expect(session.hasSuffix("ok\n"))
        }
        #expect(await storage.contents.primary?.version == FirmwareVersion(3, 2, 1))
        #expect(await storage.contents.primary?.bytes.count ?? 0 > 100_000)
        #expect(await storage.contents.isConfirmed)
        await host.shutDown()
        await world.daemon.kill()
    }

    @Test(.enabled(if: OtherPrograms.has("bleak_esphome")), arguments: [66, 82])
    func `aioesphomeapi, and bleak-esphome with habluetooth, use a strap through a proxy`(_ minorVersion: Int)
        async throws
    {
        let world = try await BlueZWorld(minorVersion: minorVersion, isAsInstalled: true)
        let strap = await world.radio.add(SimulatedStrap().definition)
        let result = try await OtherPrograms.proxySession(bus: world.bus.address) { numbers in
            for number in numbers {
                let value = [UInt8(number & 0xFF), UInt8(number >> 8), 0, 0] + [UInt8](repeating: 0, count: 16)
                await strap.notify(value, from: EchoStrap.output.key.characteristic)
            }
        }
        #expect(result.session.hasPrefix("a wrong key is refused\n"), "\(result)")
        #expect(result.session.contains("received 1000\ntwo clients\nbleak "))
        #expect(result.session.hasSuffix("\nok\n"))
        #expect(result.proxy.contains("\"linkRefused\""))
        await world.daemon.kill()
    }
}
