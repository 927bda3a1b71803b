import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Subprocess
import Testing

/// The README's example: it is the program in `Tests/ReadmeExample`, word for word, and that program works.
@Suite(.startsProcesses, .hangLimit)
struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    @Test func `the example is the program that is compiled`() throws {
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let program = try String(
            contentsOf: Self.root.appending(path: "Tests/ReadmeExample/main.swift"), encoding: .utf8)
        #expect(readme.contains("```swift\n\(program)```"))
    }

    @Test func `the example prints heart rates`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap(beatsPerMinute: 64))
        // Line by line, though it writes to a pipe.
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        let program = TestProgram(
            "stdbuf", ["-oL", bundle.appending(path: "ReadmeExample").path],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": world.bus.address])
        let result = try await program.run { running in
            try await running.output.until(lineCount: 2)
            running.send(.terminate)
        }
        #expect(result.output.split(separator: "\n").prefix(2) == ["64 [0.9375]", "64 [0.9375]"])
        await world.daemon.kill()
    }
}
