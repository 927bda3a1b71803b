import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The README's example: it is the program in `Docs/Examples/FirstProgram`, word for word, and that program works.
@Suite(.startsProcesses, .hangLimit)
struct ReadmeTests {
    @Test func `the example is the program that is compiled`() throws {
        let readme = try Checkout.text("README.md")
        let program = try Checkout.text("Docs/Examples/FirstProgram/main.swift")
        #expect(readme.contains("```swift\n\(program)```"))
    }

    @Test func `the example prints heart rates`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap(beatsPerMinute: 64))
        // Line by line, although it writes to a pipe.
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = TestProgram(
            "stdbuf", ["-oL", bundle.appending(path: "FirstProgram").path],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": world.bus.address])
        let result = try await program.run { running in
            try await running.output.until(lineCount: 2)
            running.send(.terminate)
        }
        #expect(result.output.split(separator: "\n").prefix(2) == ["64 [0.9375]", "64 [0.9375]"])
        await world.daemon.kill()
    }
}
