import BLE
import BLEFeatures
import BLESimulation
import BLETesting
import FoundationEssentials
import SmartLock
import Testing

/// The page beside the example.
@Suite(.hangLimit)
struct LockReadmeTests {
    @Test func `a door is opened`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        let lock = SimulatedLock()
        _ = await radio.add(lock.definition)
        let central = try await Central(backend: .simulated(radio), configuration: .init(clock: clock))
        let devices = Devices(central, configuration: try .smartLock())
        let door = try await devices.connect(serial: "010203040506")
        try await door.feature(LockAccess.self).pair()
        try await door.feature(LockAccess.self).setState(.unlocked)
        #expect(await lock.memory.state == .unlocked)
        await central.shutDown()
    }

    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.drop(while: \.isWhitespace))
        }
    }

    @Test func `what the page shows is the code that is compiled`() throws {
        var code = ""
        for folder in ["Sources", "Tests"] {
            let directory = Self.directory.appending(path: folder)
            for name in try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() {
                code += try String(contentsOf: directory.appending(path: name), encoding: .utf8)
            }
        }
        code = lines(code).joined(separator: "\n")
        let page = try String(contentsOf: Self.directory.appending(path: "README.md"), encoding: .utf8)
        let excerpts = page.components("```swift\n").dropFirst().compactMap { $0.components("```").first }
        #expect(excerpts.count > 3)
        for excerpt in excerpts {
            let shown = lines(excerpt).joined(separator: "\n").drop { $0 == "\n" }
            // … stands for what is left out.
            for part in shown.components("…\n") where !part.isEmpty {
                #expect(code.contains(part), "the page shows what is not in the code")
            }
        }
    }
}

extension StringProtocol {
    fileprivate func components(_ separator: String) -> [String] {
        var parts: [String] = []
        var rest = Substring(self)
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
