import BLE
import BLEProfiles
import BLERecording
import BLETestSupport
import BLETesting
import Foundation
import Testing

@Suite struct RecordingFileTests {
    private func path() -> String {
        FileManager.default.temporaryDirectory.appending(path: "recording-\(UUID().uuidString).jsonl").path
    }

    private func recording(_ text: String) throws(BLEError) -> Recording { try Recording(lines: Data(text.utf8)) }

    private let header = #"{"format":"ble-recording","stack":"Test","version":1}"# + "\n"

    // MARK: Reading

    @Test func `a line that was cut off is left out`() throws {
        let whole = try recording(header + #"{"at":1.5,"what":"stopScan","call":1}"# + "\n" + #"{"at":2,"wh"#)
        #expect(whole.entries.count == 1)
        #expect(whole.entries[0].time == .milliseconds(1500))
    }

    @Test func `a line that is none is named by its number`() throws {
        let error = try #require(throws: BLEError.self) {
            try recording(header + #"{"at":1,"what":"connect"}"# + "\nnonsense\n")
        }
        #expect(error.code == .invalidValue)
        #expect(error.message.contains("line 3"))
    }

    @Test(arguments: [
        #"{"at":1,"what":"read","offset":-1}"#,
        #"{"at":1,"what":"reply","services":{"services":[{"uuid":"180f","handle":2,"isPrimary":true,"characteristics":[],"includedHandles":[]},{"uuid":"180f","handle":2,"isPrimary":true,"characteristics":[],"includedHandles":[]}]}}"#,
        #"{"at":-1,"what":"connect"}"#, #"{"at":1e300,"what":"connect"}"#, #"{"what":"connect"}"#,
        #"{"at":1,"what":"dance"}"#, #"{"at":1,"what":"value","value":"0g"}"#,
        #"{"at":1,"what":"value","handle":70000}"#,
    ])
    func `a line with a value out of range is refused`(_ line: String) throws {
        #expect(throws: BLEError.self) { try recording(header + line + "\n") }
    }

    @Test func `a later version and another format are refused with what can be read`() throws {
        let later = try #require(throws: BLEError.self) {
            try recording(#"{"format":"ble-recording","stack":"Test","version":2}"# + "\n")
        }
        #expect(later.remedy?.contains("ble-recording 1") == true)
        #expect(throws: BLEError.self) { try recording(#"{"format":"x","stack":"","version":1}"# + "\n") }
        #expect(throws: BLEError.self) { try recording("") }
    }

    @Test func `an unknown key of a later program is ignored`() throws {
        #expect(try recording(header + #"{"at":1,"what":"connect","more":[1]}"# + "\n").entries.count == 1)
    }

    // MARK: Writing

    @Test func `a file has all that was recorded, and only this user can read it`() async throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try Recorder(path: path)
        let world = try await RecordedWorld(recorder)
        try await world.readBattery()
        await world.central.shutDown()
        try await recorder.close()
        let text = try Data(contentsOf: URL(filePath: path))
        let recording = try Recording(lines: text)
        #expect(recording.entries.contains { $0.what == .read })
        #expect(recording.entries.contains { $0.what == .reply && $0.value == [90] })
        #expect(recording.lines == text)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func `a file that others could read becomes this user's, and keeps its content until a backend starts`()
        async throws
    {
        let path = path()
        try Data("before".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let unused = try Recorder(path: path)
        try await unused.close()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "before")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let recorder = try Recorder(path: path)
        let world = try await RecordedWorld(recorder)
        await world.central.shutDown()
        try await recorder.close()
        #expect(try !Recording(lines: Data(contentsOf: URL(filePath: path))).entries.isEmpty)
    }

    @Test func `a recording that ends without a line feed is whole`() throws {
        #expect(try recording(header + #"{"at":1,"what":"connect"}"#).entries.count == 1)
    }

    @Test func `a file that cannot be written is said at once`() throws {
        let error = try #require(throws: BLEError.self) { try Recorder(path: "/nowhere/at/all") }
        #expect(error.code == .recordingFailed)
    }

    @Test func `a disk that is full ends the recording, not the program`() async throws {
        let recorder = try Recorder(path: "/dev/full")
        let world = try await RecordedWorld(recorder)
        try await world.readBattery()
        await world.central.shutDown()
        let error = await expectError(.recordingFailed) { try await recorder.close() }
        #expect(error?.message.contains("No space left") == true)
        #expect(recorder.error?.code == .recordingFailed)
    }

    @Test func `a pipe that nobody reads is refused, and one that is full holds up nothing`() async throws {
        let path = path()
        #expect(mkfifo(path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: BLEError.self) { try Recorder(path: path) }
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        let recorder = try Recorder(path: path)
        let world = try await RecordedWorld(recorder)
        let battery = await world.radio.add(.battery(level: 90))
        for try await found in world.central.discoveries() where found.peripheral.id == battery.id { break }
        // More than the pipe holds.
        for _ in 0..<2000 { _ = try await world.central.peripheral(battery.id).read(.batteryLevel) }
        await world.central.shutDown()
        let closing = Task { try await recorder.close() }
        closing.cancel()
        await expectError(.cancelled) { try await closing.value }
        close(reader)
        // Without a reader, the rest cannot be written.
        await expectError(.recordingFailed) { try await recorder.close() }
    }

    @Test func `what does not fit is counted`() async throws {
        let recorder = Recorder(limit: 10)
        let world = try await RecordedWorld(recorder)
        try await world.readBattery()
        await world.central.shutDown()
        let entries = recorder.recording.entries
        #expect(entries.count == 11)
        #expect(entries.last?.what == .gap)
        #expect(try #require(entries.last?.number) > 0)
    }
}
