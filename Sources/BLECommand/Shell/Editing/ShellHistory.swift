import BLE
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The lines that a user has entered, also in earlier sessions.
///
/// A line that begins with a space is not kept, nor one with `--irk`, which may have a device's key, and neither are
/// answers to the questions of a pairing, which are not lines of the shell. Without a file that can be written, lines
/// are kept for the session.
struct ShellHistory: Sendable {
    private(set) var lines: [String] = []
    private let path: String?

    /// The number of lines that are kept, and the length of the longest, in bytes.
    static let limit = 1000
    private static let longestLine = 4096

    /// Reads the history in a file, and removes from it what is not kept, and the oldest lines if there are too many.
    /// Nil for a history without one.
    init(path: String?) {
        self.path = path
        guard let path, let content = FileManager.default.contents(atPath: path) else { return }
        let all = String(decoding: content, as: UTF8.self).split(separator: "\n").map(String.init)
        lines = all.filter(Self.isKept).suffix(Self.limit)
        if lines.count < all.count { replaceFile(path) }
    }

    /// Returns the history of this user, in `$XDG_STATE_HOME/ble/history`.
    static func ofUser(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> ShellHistory {
        ShellHistory(path: path(environment))
    }

    /// Returns the path of the file. Nil if the environment names no directory for it.
    static func path(_ environment: [String: String]) -> String? {
        StateDirectory.path(environment).map { $0 + "/history" }
    }

    private static func isKept(_ line: String) -> Bool {
        !line.allSatisfy(\.isWhitespace) && !line.hasPrefix(" ") && line.utf8.count <= longestLine
            && line == line.harmless && !line.contains("--irk")
    }

    /// Adds a line, unless it is the same as the last one. Returns whether it was added.
    mutating func add(_ line: String) -> Bool {
        guard Self.isKept(line), line != lines.last else { return false }
        lines.append(line)
        if lines.count > Self.limit { lines.removeFirst() }
        if let path { Self.append(line, to: path) }
        return true
    }

    private static func append(_ line: String, to path: String) {
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        write(line + "\n", to: path, O_APPEND)
    }

    private func replaceFile(_ path: String) {
        let new = "\(path).\(getpid())"
        guard Self.write(lines.map { $0 + "\n" }.joined(), to: new, O_TRUNC) else { return }
        if rename(new, path) != 0 { unlink(new) }
    }

    /// Writes text to a file that only this user can read. Returns whether it was written.
    @discardableResult
    private static func write(_ text: String, to path: String, _ flag: Int32) -> Bool {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flag, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        let bytes = Array(text.utf8)
        return Glibc.write(file, bytes, bytes.count) == bytes.count
    }
}
