import BLE
import BLERecording

/// The lines of a script.
struct Script: Sendable {
    private enum Source: Sendable {
        /// The lines arrive while earlier ones run.
        case standardInput
        case lines([String])
    }

    /// The name for messages.
    let name: String
    private let source: Source

    /// The size of the largest file, and of the longest line, in bytes.
    private static let limit = 1 << 20
    static let longestLine = 1 << 13

    /// The lines of standard input.
    static let standardInput = Script(name: "-", source: .standardInput)

    private init(name: String, source: Source) { (self.name, self.source) = (name, source) }

    /// Reads a file. Throws `recordingFailed`, the code of files, if it cannot be read or is too large.
    init(path: String) async throws {
        do {
            let bytes = try await InputFile.read(path, limit: Self.limit)
            self.init(name: path, source: .lines(Self.lines(of: bytes)))
        } catch let error as InputFile.Failure {
            throw BLEError(.recordingFailed, "the script “\(path.excerpt)” \(error)", isRetryable: false)
        }
    }

    /// Returns the lines, which end with LF or CR LF, as those of standard input do.
    static func lines(of bytes: [UInt8]) -> [String] {
        bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
    }

    /// Passes each line, with its number, to `body`, until that returns false. Nil stands for a line that is too long.
    func forEachLine(_ body: (Int, String?) async throws -> Bool) async throws {
        var number = 0
        func perform(_ line: String) async throws -> Bool {
            number += 1
            var line = line
            // A byte order mark.
            if number == 1, line.unicodeScalars.first == "\u{FEFF}" { line.unicodeScalars.removeFirst() }
            return try await body(number, line.utf8.count <= Self.longestLine ? line : nil)
        }
        switch source {
        case .lines(let lines): for line in lines where try await !perform(line) { return }
        case .standardInput:
            while let line = await StandardInput.shared.nextLine() { guard try await perform(line) else { return } }
        }
    }
}
