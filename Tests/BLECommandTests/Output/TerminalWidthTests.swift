import BLETestSupport
import BlueZTestSupport
import Testing

/// The tool on a terminal of 40 columns.
@Suite(.startsProcesses, .hangLimit) struct TerminalWidthTests {
    /// Returns the lines that the tool writes, and its exit status.
    private func ble(_ arguments: String) async throws -> (lines: [String], status: Int32) {
        let command = "stty cols 40; exec '\(Tool.path)' \(arguments) --backend simulated"
        let result = try await TestProgram.onTerminal(command, input: .text("")).run()
        return (result.output.split(whereSeparator: \.isNewline).map(String.init), result.status)
    }

    @Test(arguments: [("Strap nonsense", 64, "Error: The value"), ("00:00:00:00:00:00 2a19 --timeout 0", 64, "Error:")])
    func `messages on a terminal are wrapped at its width`(
        _ arguments: String, _ status: Int32, _ first: String
    ) async throws {
        let (lines, ended) = try await ble("read \(arguments)")
        #expect(ended == status)
        let message = try #require(lines.firstIndex { $0.hasPrefix(first) })
        #expect(lines.allSatisfy { $0.count <= 40 }, "\(lines)")
        // What does not fit follows below the first line's text.
        #expect(lines[message + 1].hasPrefix("       "))
        #expect(!lines[message + 1].hasPrefix("        "))
    }

    @Test func `errors and remedies on a terminal are wrapped at its width`() async throws {
        let (lines, status) = try await ble("read 00:00:00:00:00:00 2a19 --timeout 0.01")
        #expect(status == 12)
        let message = try #require(lines.firstIndex { $0.hasPrefix("ble: ") })
        #expect(lines.count > message + 1)
        #expect(lines.dropFirst(message).allSatisfy { $0.count <= 40 }, "\(lines)")
        #expect(lines[message + 1].hasPrefix("     "))
    }
}
