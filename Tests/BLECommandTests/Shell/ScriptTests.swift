import BLETestSupport
import Foundation
import Testing

@testable import BLECommand

/// The files of the command line.
@Suite(.hangLimit) struct ScriptTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).ble").path

    private func lines(_ text: String) async throws -> [String?] {
        try Data(text.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var lines: [String?] = []
        try await Script(path: path).forEachLine { _, line in
            lines.append(line)
            return true
        }
        return lines
    }

    @Test func `lines end with LF or CR LF, and a byte order mark is skipped`() async throws {
        let text = "\u{FEFF}read a\r\nread b\u{0B}c\u{0C}d\u{85}e\u{2028}f\rg\n\nlast"
        #expect(try await lines(text) == ["read a", "read b\u{0B}c\u{0C}d\u{85}e\u{2028}f\rg", "", "last"])
    }

    @Test func `a cancellation ends the wait for the writer of a pipe`() async throws {
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let path = path
        let read = Task { try await InputFile.read(path, limit: 10) }
        read.cancel()
        await #expect(throws: (any Error).self) { try await read.value }
    }

    @Test func `a pipe is read up to the end of its writer`() async throws {
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let path = path
        async let read = InputFile.read(path, limit: 10)
        DispatchQueue.global().async { FileHandle(forWritingAtPath: path)?.write(Data("0123456789".utf8)) }
        #expect(try await read == Array("0123456789".utf8))
    }
}
