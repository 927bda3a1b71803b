import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Foundation
import Testing

/// The README's example: it is the program in `Tests/ReadmeExample`, word for word, and that program works.
@Suite(.timeLimit(minutes: 1))
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
        let process = Process()
        // (line by line, though it writes to a pipe)
        process.executableURL = URL(filePath: "/usr/bin/stdbuf")
        let bundle = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.arguments = ["-oL", bundle.appending(path: "ReadmeExample").path]
        process.environment = ProcessInfo.processInfo.environment.merging(["DBUS_SYSTEM_BUS_ADDRESS": world.bus.address]
        ) {
            $1
        }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let lines = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        var text = ""
                        while text.count(where: { $0 == "\n" }) < 2 {
                            let data = output.fileHandleForReading.availableData
                            guard !data.isEmpty else { break }
                            text += String(decoding: data, as: UTF8.self)
                        }
                        return text.split(separator: "\n").prefix(2).map(String.init)
                    })
            }
        }
        process.terminate()
        #expect(lines == ["64 [0.9375]", "64 [0.9375]"])
        await world.daemon.kill()
    }
}
