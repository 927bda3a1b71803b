import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The examples of `Docs/Radios.md`: they are programs in `Docs/Examples`, word for word, and these work on fakes.
@Suite(.startsProcesses, .hangLimit)
struct RadiosPageTests {
    /// An example, whose output comes line by line although it is a pipe.
    private func program(_ name: String, _ arguments: [String] = [], bus: String = "") -> TestProgram {
        let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        return TestProgram(
            "stdbuf", ["-oL", folder.appending(path: name).path] + arguments,
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus])
    }

    @Test(arguments: ["TwoAdapters", "AdapterAndProxy", "Hub"])
    func `the examples are the programs that are compiled`(_ name: String) throws {
        let program = try Checkout.text("Docs/Examples/\(name)/main.swift")
        #expect(try Checkout.text("Docs/Radios.md").contains("```swift\n\(program)```"))
    }

    @Test func `two adapters are one central's, and each way to a peripheral is listed`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.addAdapter("hci1")
        let strap = await world.radio.add(.heartRateStrap())
        let result = try await program("TwoAdapters", bus: world.bus.address).run { running in
            // The strap, behind it its ways.
            try await running.output.until { text in
                text.contains("\(strap.id) hci") && ["   hci0 ", "   hci1 "].allSatisfy(text.contains)
            }
            running.send(.terminate)
        }
        #expect(result.status == 143)
        await world.daemon.kill()
    }

    /// The hub's strap is out of reach of the adapter.
    @Test func `a strap in the attic is read through a hub, which is another program`() async throws {
        let world = try await BlueZWorld()
        // An address of this process's own: others may use the port at 127.0.0.1.
        let process = getpid()
        let host = "127.\(process >> 16 & 0x3F | 0x40).\(process >> 8 & 0xFF).\(process & 0xFF)"
        let hub = try await program("Hub", [host]).run { running in
            try await running.output.until("=\n")
            let key = try #require(running.output.text.firstMatch(of: /: (\S+=)\n/)).1
            let result = try await program("AdapterAndProxy", [host, String(key)], bus: world.bus.address).run()
            #expect(result.output == "\(host) 90 %\n", "\(result.errors)")
            running.send(.terminate)
        }
        #expect(hub.status == 143)
        await world.daemon.kill()
    }
}
