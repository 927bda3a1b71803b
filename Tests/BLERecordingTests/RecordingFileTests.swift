import BLE
import BLEProfiles
import BLERecording
import BLETestSupport
import BLETesting
import Foundation
import Testing

@Suite(.hangLimit) struct RecordingFileTests {
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
        #"{"at":1,"what":"read","offset":-1}"#, #"{"at":1,"what":"read","offset":65536}"#,
        #"{"at":1,"what":"reply","services":{"services":[{"uuid":"180f","handle":2,"isPrimary":true,"characteristics":[],"includedHandles":[]},{"uuid":"180f","handle":2,"isPrimary":true,"characteristics":[],"includedHandles":[]}]}}"#,
        #"{"at":-1,"what":"connect"}"#, #"{"at":1e300,"what":"connect"}"#, #"{"what":"connect"}"#,
        #"{"at":1,"what":"dance"}"#, #"{"at":1,"what":"value","value":"0g"}"#,
        #"{"at":1,"what":"value","handle":70000}"#,
    ])
    func `a line with a value out of range is refused`(_ line: String) throws {
        #expect(throws: BLEError.self) { try recording(header + line + "\n") }
    }

    @Test(arguments: [(-1, nil), (0, nil), (513, 513), (65_535, 65_535), (70_000, 65_535)])
    func `any offset that another device asks for can be read again`(offset: Int, read: Int?) throws {
        let entry = RecordedEntry(.requestRead, offset: offset)
        let lines = Recording(Recording.Header(stack: "Test"), entries: [entry]).lines
        #expect(try Recording(lines: lines).entries.map(\.offset) == [read])
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

    @Test func `a file that a recorder writes is not another's`() async throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let recorder = try Recorder(path: path)
        let error = try #require(throws: BLEError.self) { try Recorder(path: path) }
        #expect(error.code == .recordingFailed)
        #expect(error.message.contains("another recorder"))
        #expect(throws: BLEError.self) {
            try recording(header + #"{"at":1,"what":"connect"}"# + "\n").write(to: path)
        }
        try await recorder.close()
        try await Recorder(path: path).close()
    }

    @Test func `each close returns after the last line`() async throws {
        for _ in 0..<30 {
            let path = path()
            defer { try? FileManager.default.removeItem(atPath: path) }
            let recorder = try Recorder(path: path)
            let world = try await RecordedWorld(recorder)
            await world.central.shutDown()
            let counts = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await recorder.close()
                        return try Data(contentsOf: URL(filePath: path)).count
                    }
                }
                return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
            }
            #expect(counts.count == 1)
            #expect(try Recording(lines: Data(contentsOf: URL(filePath: path))).entries.last?.what == .reply)
        }
    }

    @Test func `a recording replaces a file when it is written, where a link leads to`() throws {
        let (path, earlier, link) = (path(), path(), path())
        defer { for path in [path, earlier, link] { try? FileManager.default.removeItem(atPath: path) } }
        try Data("before".utf8).write(to: URL(filePath: path))
        try FileManager.default.linkItem(atPath: path, toPath: earlier)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let made = try recording(header + #"{"at":1,"what":"connect"}"# + "\n")
        try made.write(to: link)
        #expect(try Data(contentsOf: URL(filePath: path)) == made.lines)
        // A reader of the former file still has all of it.
        #expect(try String(contentsOfFile: earlier, encoding: .utf8) == "before")
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let name = URL(filePath: path).lastPathComponent
        let folder = try FileManager.default.contentsOfDirectory(atPath: FileManager.default.temporaryDirectory.path)
        #expect(folder.filter { $0.hasPrefix(name) } == [name])
    }

    @Test func `where a path leads nowhere yet, the file is made there`() throws {
        let (path, link) = (path(), path())
        defer { for path in [path, link] { try? FileManager.default.removeItem(atPath: path) } }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let made = try recording(header + #"{"at":1,"what":"connect"}"# + "\n")
        try made.write(to: link)
        #expect(try Data(contentsOf: URL(filePath: path)) == made.lines)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
    }

    @Test func `an output that is redirected to a file is written into, not replaced`() throws {
        let path = path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data().write(to: URL(filePath: path))
        func number() throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        }
        let before = try number()
        let file = try FileHandle(forUpdating: URL(filePath: path))
        let made = try recording(header + #"{"at":1,"what":"connect"}"# + "\n")
        try made.write(to: "/proc/self/fd/\(file.fileDescriptor)")
        try file.close()
        #expect(try number() == before)
        #expect(try Data(contentsOf: URL(filePath: path)) == made.lines)
    }

    @Test(arguments: ["/nowhere/at/all", "/dev/full"]) func `what cannot be written is said`(path: String) throws {
        let error = try #require(throws: BLEError.self) {
            try recording(header + #"{"at":1,"what":"connect"}"# + "\n").write(to: path)
        }
        #expect(error.code == .recordingFailed)
    }

    // MARK: Calls

    @Test func `a call that the program gave up, and the end, are in the recording`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let (battery, found) = try await world.addBattery()
        await battery.ignore(.connect)
        let connecting = Task(executorPreference: world.radio.taskExecutor) { try await found.connect() }
        await world.clock.run(for: .seconds(1))
        connecting.cancel()
        await expectError(.cancelled) { try await connecting.value }
        await world.central.shutDown()
        let entries = recorder.recording.entries
        let call = try #require(entries.first { $0.what == .connect }?.call)
        #expect(entries.filter { $0.call == call }.map(\.what) == [.connect, .cancel, .reply])
        #expect(entries.suffix(2).map(\.what) == [.shutDown, .reply])
    }

    @Test func `a long recording in memory has its entries in order`() async throws {
        let recorder = Recorder()
        let world = try await RecordedWorld(recorder)
        let battery = try await world.addBattery().found
        for _ in 0..<1000 { _ = try await battery.read(.batteryLevel) }
        let before = recorder.recording.entries.count
        await world.central.shutDown()
        let entries = recorder.recording.entries
        #expect(before < entries.count)
        #expect(entries.filter { $0.what == .read }.count == 1000)
        let calls = entries.filter { ![.reply, .cancel].contains($0.what) }.compactMap(\.call)
        #expect(calls == Array(1...calls.count))
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
