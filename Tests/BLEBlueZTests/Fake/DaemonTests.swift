import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The example of `Docs/Daemon.md`: it is the program in `Docs/Examples/StrapLogger`, word for word, and that program
/// works.
@Suite(.startsProcesses, .hangLimit)
struct DaemonTests {
    @Test func `the page has the program that is compiled, and its unit`() throws {
        let page = try Checkout.text("Docs/Daemon.md")
        #expect(page.contains("```swift\n\(try Checkout.text("Docs/Examples/StrapLogger/main.swift"))```"))
        #expect(page.contains("```ini\n\(try Checkout.text("Docs/Examples/StrapLogger/strap-logger.service"))```"))
    }

    private func program(_ arguments: [String], _ world: BlueZWorld) -> TestProgram {
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return TestProgram(
            bundle.appending(path: "StrapLogger").path, arguments,
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": world.bus.address])
    }

    @Test func `it runs from before the bus to SIGTERM, over a restart of bluetoothd`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 64))
        await world.daemon.kill()
        world.bus.stop()
        let result = try await program([strap.id.rawValue.lowercased()], world).run { running in
            try await world.bus.restart()
            try await world.daemon.start()
            try await running.output.until("heart rate: 64")
            await world.daemon.kill()
            try await running.output.until("interrupted: ")
            try await world.daemon.start()
            try await running.output.until("heart rate: 64", after: "interrupted: ")
            running.send(.terminate)
        }
        #expect(result.status == 0)
        #expect(result.output.hasSuffix("stopped\n"))
        // The program has left nothing behind.
        #expect(await strap.isConnected == false)
        await world.daemon.kill()
    }

    @Test func `it ends with 64 for wrong usage, and with 1 for an id that is not an address`() async throws {
        let world = try await BlueZWorld()
        #expect(try await program([], world).run().status == 64)
        let result = try await program(["strap"], world).run()
        #expect(result.status == 1)
        #expect(result.errors.contains("not a device address"))
        await world.daemon.kill()
    }
}
