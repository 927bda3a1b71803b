import Foundation
import Testing

@testable import BLECommand

@Suite struct ShellHistoryTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "history-\(UUID().uuidString)").path
    private var path: String { folder + "/ble/history" }

    @Test func `lines are kept for the next session, in a file that only the user can read`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var history = ShellHistory(path: path)
        #expect(history.lines == [])
        let lines = ["scan", "scan", "read 2a19", " write ff01 secret", "", "use \u{1B}[2J"]
        for line in lines { _ = history.add(line) }
        #expect(history.lines == ["scan", "read 2a19"])
        #expect(ShellHistory(path: path).lines == ["scan", "read 2a19"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a line with the key of a device is not kept, nor read from a file of an earlier version`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let key = "ec0234a357c8ad05341010a60a397d9b"
        try FileManager.default.createDirectory(atPath: folder + "/ble", withIntermediateDirectories: true)
        try Data("scan --irk \(key)\nscan\n".utf8).write(to: URL(filePath: path))
        var history = ShellHistory(path: path)
        for line in ["scan --irk \(key)", "scan --irk=watch=\(key) --json"] {
            let isAdded = history.add(line)
            #expect(!isAdded)
        }
        #expect(history.lines == ["scan"])
        // The file does not have it any longer either.
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "scan\n")
    }

    @Test func `the oldest lines are removed`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/ble", withIntermediateDirectories: true)
        let lines = (1...1500).map { "read \($0)" }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
        #expect(ShellHistory(path: path).lines == lines.suffix(1000))
        let kept = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(kept.count == 1000)
    }

    @Test func `without a home directory, lines are kept for the session`() {
        #expect(ShellHistory.path([:]) == nil)
        #expect(ShellHistory.path(["HOME": "", "XDG_STATE_HOME": "relative"]) == nil)
        #expect(ShellHistory.path(["HOME": "/home/a"]) == "/home/a/.local/state/ble/history")
        #expect(ShellHistory.path(["HOME": "/home/a", "XDG_STATE_HOME": "/s"]) == "/s/ble/history")
        var history = ShellHistory(path: nil)
        let isAdded = history.add("scan")
        #expect(isAdded)
        #expect(history.lines == ["scan"])
    }

    @Test func `a folder that cannot be made is no error`() {
        var history = ShellHistory(path: "/proc/none/ble/history")
        let isAdded = history.add("scan")
        #expect(isAdded)
    }
}
