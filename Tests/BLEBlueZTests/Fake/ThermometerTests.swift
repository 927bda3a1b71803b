import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The example `Docs/Examples/Thermometer`: one definition, served in three ways by one program. `RealThermometerTests`
/// has the third on the real bluetoothd.
@Suite(.startsProcesses, .hangLimit)
struct ThermometerTests {
    private static let rhythm = Characteristic<UInt8>(BluetoothUUID("8E1D0001-5C0E-4F0B-9B5D-0A6A3B1F7C21")!)

    private func program(_ arguments: String..., environment: [Environment.Key: String?] = [:]) -> TestProgram {
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return TestProgram(bundle.appending(path: "Thermometer").path, arguments, environment: environment)
    }

    @Test func `a device and a host in memory are the same to a central`() async throws {
        for way in ["device", "memory"] {
            let result = try await program(way).run()
            #expect(result.status == 0)
            #expect(result.output == "rhythm: 1 tenths of a second\n21.5 °C\n21.6 °C\n21.7 °C\n")
        }
    }

    /// Sets the rhythm of a thermometer in reach, and receives three temperatures.
    static func use(_ phone: Central) async throws -> Peripheral {
        let thermometer = try await phone.first(matching: .service(.environmentalSensing), timeout: HangLimit.step)
            .peripheral
        try await thermometer.write(1, to: rhythm)
        #expect(try await thermometer.read(rhythm) == 1)
        var temperatures = try await thermometer.notifications(.temperature).makeAsyncIterator()
        for expected in [21.5, 21.6, 21.7] {
            let temperature = try await temperatures.next()
            #expect(temperature == .some(expected))
        }
        return thermometer
    }

    @Test func `it is served with bluetoothd, until SIGTERM`() async throws {
        let world = try await BlueZWorld()
        let phone = try await Central(backend: .simulated(world.radio), configuration: .quiet())
        let result = try await program("air", environment: ["DBUS_SYSTEM_BUS_ADDRESS": world.bus.address]).run {
            running in
            let thermometer = try await Self.use(phone)
            // bluetoothd does not send this error.
            let refused = await expectError(.attributeError) { try await thermometer.write(0, to: Self.rhythm) }
            #expect(refused?.attError == .unlikelyError)
            running.send(.terminate)
        }
        #expect(result.status == 0)
        #expect(result.output.hasSuffix("stopped\n"))
        let counts = await world.daemon.servedCounts
        #expect(counts == (0, 0))
        await phone.shutDown()
        await world.daemon.kill()
    }

    @Test func `it ends with 64 for wrong usage`() async throws {
        #expect(try await program().run().status == 64)
    }
}
