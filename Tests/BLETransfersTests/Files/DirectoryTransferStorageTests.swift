import BLE
import BLETesting
import Foundation
import Testing

@testable import BLETransfers

/// Received files in a directory.
@Suite(.hangLimit) struct DirectoryTransferStorageTests {
    private let directory: URL
    private let storage: DirectoryTransferStorage
    private let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
    private let peer: DeviceID = "C0:00:00:00:00:01"

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        storage = try DirectoryTransferStorage(directory.path)
    }

    private func contents(_ name: String) -> [UInt8]? {
        (try? Data(contentsOf: directory.appending(path: name))).map { Array($0) }
    }

    private func part(_ file: TransferFile) -> [UInt8]? { contents(TransferParts.name(of: file)) }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
    }

    private func end() { try? FileManager.default.removeItem(at: directory) }

    /// Stores the beginning of a file, as a transfer that is interrupted does.
    private func interrupt(_ file: TransferFile, _ storage: DirectoryTransferStorage) async throws {
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(Array(bytes[..<400]), at: 0, of: file)
        await storage.suspend(file)
    }

    @Test func `a part is beside the file until it is complete, and another process goes on with it`() async throws {
        defer { end() }
        let file = TransferFile(name: "a.bin", bytes: bytes)
        #expect(try await storage.begin(file, isNew: false, from: peer) == 0)
        try await storage.write(Array(bytes[..<400]), at: 0, of: file)
        #expect(contents("a.bin") == nil && part(file) == Array(bytes[..<400]))
        let later = try DirectoryTransferStorage(directory.path)
        // It is being received.
        await #expect(throws: TransferRefusal.busy) { try await later.begin(file, isNew: false, from: peer) }
        await storage.suspend(file)
        #expect(try await later.begin(file, isNew: false, from: peer) == 400)
        #expect(try await later.read(file, at: 100, maximumLength: 50) == bytes[100..<150])
        await #expect(throws: TransferRefusal.storageFailed) { try await later.write([1], at: 399, of: file) }
        try await later.write(Array(bytes[400...]), at: 400, of: file)
        try await later.finish(file)
        await later.suspend(file)
        #expect(contents("a.bin") == bytes && part(file) == nil)
        // It is complete.
        #expect(try await storage.begin(file, isNew: false, from: peer) == 1000)
        #expect(try await storage.read(file, at: 0, maximumLength: 10) == bytes[..<10])
        try await storage.finish(file)
        #expect(try names == ["a.bin"])
    }

    @Test func `a part of another file is discarded`() async throws {
        defer { end() }
        let file = TransferFile(name: "a", bytes: bytes)
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(bytes, at: 0, of: file)
        #expect(try await storage.begin(file, isNew: true, from: peer) == 0)
        try await storage.write(bytes, at: 0, of: file)
        await storage.suspend(file)
        // Another identifier is another file.
        let others = [TransferFile(name: "a", bytes: bytes, identifier: 1), TransferFile(name: "a", bytes: [1])]
        for other in others {
            #expect(try await storage.begin(other, isNew: false, from: peer) == 0)
            try await storage.write([1], at: 0, of: other)
            #expect(part(file) == nil)
            await storage.suspend(other)
        }
        #expect(try names == [TransferParts.name(of: others[1])])
        _ = try await storage.begin(others[1], isNew: false, from: peer)
        try await storage.discard(others[1])
        #expect(try names == [])
    }

    @Test func `an offer without data creates nothing`() async throws {
        defer { end() }
        for number in 0..<10 {
            let file = TransferFile(name: "\(number)", bytes: bytes)
            _ = try await storage.begin(file, isNew: false, from: peer)
            await storage.suspend(file)
        }
        #expect(try names == [])
        let empty = TransferFile(name: "empty", bytes: [])
        #expect(try await storage.begin(empty, isNew: false, from: peer) == 0)
        try await storage.finish(empty)
        #expect(try names == ["empty"])
    }

    @Test func `the parts that were written least recently make room for others, those in use do not`() async throws {
        defer { end() }
        let files = (0..<6).map { TransferFile(name: "\($0)", bytes: bytes) }
        let storage = try DirectoryTransferStorage(directory.path, maximumParts: 3)
        _ = try await storage.begin(files[0], isNew: false, from: peer)
        try await storage.write(Array(bytes[..<400]), at: 0, of: files[0])
        for file in files[1...] { try await interrupt(file, storage) }
        #expect(try names == [files[0], files[4], files[5]].map(TransferParts.name))
        try await storage.write(Array(bytes[400...]), at: 400, of: files[0])
        try await storage.finish(files[0])
        await storage.suspend(files[0])
        #expect(contents("0") == bytes)
        // All are in use.
        for file in files[1..<4] { _ = try await storage.begin(file, isNew: false, from: peer) }
        await #expect(throws: TransferRefusal.busy) { try await storage.begin(files[4], isNew: false, from: peer) }
    }

    @Test func `the parts of earlier processes count, and other files do not`() async throws {
        defer { end() }
        let files = (0..<5).map { TransferFile(name: "\($0)", bytes: bytes) }
        for file in files { try await interrupt(file, storage) }
        for (file, age) in zip(files, [1, 5, 4, 3, 2]) {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1e9 - Double(age))],
                ofItemAtPath: directory.appending(path: TransferParts.name(of: file)).path)
        }
        let others = ["x.part", "x.0123.part", ".0123456789abcdef.part"]
        for name in others { try Data([1]).write(to: directory.appending(path: name)) }
        let later = try DirectoryTransferStorage(directory.path, maximumParts: 3)
        let file = TransferFile(name: "new", bytes: bytes)
        _ = try await later.begin(file, isNew: false, from: peer)
        try await later.write([1], at: 0, of: file)
        #expect(try names == ([file, files[0], files[4]].map(TransferParts.name) + others).sorted())
    }

    @Test func `no name leaves the directory`() async throws {
        defer { end() }
        try FileManager.default.createDirectory(
            at: directory.appending(path: "folder"), withIntermediateDirectories: false)
        let names = [
            "../a", "a/b", "/tmp/a", "..", ".", ".hidden", "a.part", "a.Part", "a\u{0}b", "a\\b", "", "a\u{1B}[2J",
            "folder",
        ]
        for name in names {
            let file = TransferFile(name: name, length: 1, checksum: 0, identifier: 0)
            await #expect(throws: TransferRefusal.nameRefused) {
                try await storage.begin(file, isNew: false, from: peer)
            }
        }
        #expect(try self.names == ["folder"])
    }

    @Test func `links are not followed`() async throws {
        defer { end() }
        let outside = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data([9]).write(to: outside)
        defer { try? FileManager.default.removeItem(at: outside) }
        let (file, other) = (TransferFile(name: "a", bytes: bytes), TransferFile(name: "b", bytes: bytes))
        for name in ["a", TransferParts.name(of: other)] {
            try FileManager.default.createSymbolicLink(
                at: directory.appending(path: name), withDestinationURL: outside)
        }
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(bytes, at: 0, of: file)
        try await storage.finish(file)
        // What is no file is not in the way.
        try await interrupt(other, storage)
        #expect(try Array(Data(contentsOf: outside)) == [9])
        #expect(contents("a") == bytes && part(other) == Array(bytes[..<400]))
    }

    @Test func `a pipe, and a part that is longer than its file, are discarded`() async throws {
        defer { end() }
        let files = [TransferFile(name: "a", bytes: [1]), TransferFile(name: "b", bytes: [1])]
        try Data([1, 2]).write(to: directory.appending(path: TransferParts.name(of: files[0])))
        #expect(mkfifo(directory.appending(path: TransferParts.name(of: files[1])).path, 0o600) == 0)
        for file in files {
            #expect(try await storage.begin(file, isNew: false, from: peer) == 0)
            try await storage.write([1], at: 0, of: file)
            try await storage.finish(file)
            #expect(contents(file.name) == [1])
        }
    }

    @Test func `a part that another storage has made later is completed, and told`() async throws {
        defer { end() }
        let told = SharedValue<[String]>([])
        let later = try DirectoryTransferStorage(directory.path) { file in told.change { $0.append(file.name) } }
        _ = try await later.begin(TransferFile(name: "other", bytes: bytes), isNew: false, from: peer)
        let file = TransferFile(name: "a", bytes: bytes)
        try await interrupt(file, storage)
        #expect(try await later.begin(file, isNew: false, from: peer) == 400)
        try await later.write(Array(bytes[400...]), at: 400, of: file)
        try await later.finish(file)
        #expect(contents("a") == bytes && told.value == ["a"])
        // Once.
        try await later.finish(file)
        #expect(told.value == ["a"])
    }

    @Test func `a directory that could not be read is read later`() async throws {
        defer { end() }
        let storage = try DirectoryTransferStorage(directory.path, maximumParts: 1)
        let files = (0..<3).map { TransferFile(name: "\($0)", bytes: bytes) }
        end()
        await #expect(throws: TransferRefusal.storageFailed) {
            try await storage.begin(files[0], isNew: false, from: peer)
        }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        let other = try DirectoryTransferStorage(directory.path)
        for file in files[..<2] { try await interrupt(file, other) }
        try await interrupt(files[2], storage)
        #expect(try names == [TransferParts.name(of: files[2])])
    }

    @Test func `a part that is moved before it is locked is not received`() async throws {
        defer { end() }
        let path = directory.appending(path: "part").path
        try Data([1]).write(to: URL(fileURLWithPath: path))
        let opened = SharedValue(0)
        let file = try OpenFile.locked(path, O_RDWR) {
            opened.change { $0 += 1 }
            // Its owner completes it, and another one begins.
            if opened.value == 1 { try? Data([2, 3]).write(to: URL(fileURLWithPath: path), options: .atomic) }
        }
        #expect(try file.read(at: 0, count: 10) == [2, 3] && opened.value == 2)
        withExtendedLifetime(file) {
            _ = #expect(throws: OpenFile.Failure.self) { try OpenFile.locked(path, O_RDWR) }
        }
        let gone = directory.appending(path: "gone").path
        try Data([1]).write(to: URL(fileURLWithPath: gone))
        let failure = #expect(throws: OpenFile.Failure.self) { try OpenFile.locked(gone, O_RDWR) { unlink(gone) } }
        #expect(failure?.number == ENOENT)
    }

    @Test func `a part that was replaced does not become the file`() async throws {
        defer { end() }
        let file = TransferFile(name: "a", bytes: bytes)
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(bytes, at: 0, of: file)
        try Data([9]).write(to: directory.appending(path: TransferParts.name(of: file)), options: .atomic)
        await #expect(throws: TransferRefusal.storageFailed) { try await storage.finish(file) }
        #expect(contents("a") == nil)
    }

    @Test func `names that are equal for strings only have parts that count`() async throws {
        defer { end() }
        let storage = try DirectoryTransferStorage(directory.path, maximumParts: 2)
        let files = ["\u{E9}", "e\u{301}", "x"].map { TransferFile(name: $0, bytes: bytes) }
        for file in files[..<2] { try await interrupt(file, storage) }
        #expect(try names.count == 2)
        try await interrupt(files[2], storage)
        #expect(try names.count == 2)
    }

    @Test func `an offer without data discards no part`() async throws {
        defer { end() }
        let storage = try DirectoryTransferStorage(directory.path, maximumParts: 1)
        let file = TransferFile(name: "a", bytes: bytes)
        try await interrupt(file, storage)
        for other in [TransferFile(name: "a", bytes: [1]), TransferFile(name: "b", bytes: [1])] {
            #expect(try await storage.begin(other, isNew: false, from: peer) == 0)
            await storage.suspend(other)
        }
        #expect(try await storage.begin(file, isNew: false, from: peer) == 400)
    }

    @Test func `a file of a name that is being received is refused`() async throws {
        defer { end() }
        let (file, other) = (TransferFile(name: "a", bytes: bytes), TransferFile(name: "a", bytes: [1]))
        _ = try await storage.begin(file, isNew: false, from: peer)
        await #expect(throws: TransferRefusal.busy) { try await storage.begin(other, isNew: false, from: peer) }
        await storage.suspend(other)
        try await storage.write(bytes, at: 0, of: file)
        try await storage.finish(file)
        #expect(contents("a") == bytes)
    }

    @Test func `a file that does not fit is refused, and no part is discarded for it`() async throws {
        defer { end() }
        let file = TransferFile(name: "a", length: 1 << 60, checksum: 0, identifier: 0)
        let part = TransferFile(name: "part", bytes: bytes)
        try await interrupt(part, storage)
        await #expect(throws: TransferRefusal.noRoom) { try await storage.begin(file, isNew: false, from: peer) }
        #expect(try names == [TransferParts.name(of: part)])
        #expect(OpenFile.Failure(number: ENOSPC).refusal == .noRoom)
        #expect(OpenFile.Failure(number: EIO).refusal == .storageFailed)
    }

    @Test func `an offer discards no part to make room, and bytes that arrive do`() async throws {
        defer { end() }
        // A file system of 150,000 bytes, of which files take blocks.
        let storage = try DirectoryTransferStorage(
            directory.path, reserve: 0,
            freeBytes: { path in
                let used = try FileManager.default.contentsOfDirectory(atPath: path).reduce(0) { sum, name in
                    var status = stat()
                    return lstat("\(path)/\(name)", &status) == 0 ? sum + Int(status.st_blocks) * 512 : sum
                }
                return UInt64(max(0, 150_000 - used))
            })
        let bytes = [UInt8](repeating: 1, count: 100_000)
        let (file, other) = (TransferFile(name: "a", bytes: bytes), TransferFile(name: "b", bytes: bytes))
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(bytes, at: 0, of: file)
        await storage.suspend(file)
        let large = TransferFile(name: "c", length: 200_000, checksum: 0, identifier: 0)
        await #expect(throws: TransferRefusal.noRoom) { try await storage.begin(large, isNew: false, from: peer) }
        for _ in 0..<3 {
            #expect(try await storage.begin(other, isNew: false, from: peer) == 0)
            await storage.suspend(other)
        }
        #expect(try names == [TransferParts.name(of: file)])
        _ = try await storage.begin(other, isNew: false, from: peer)
        try await storage.write(Array(bytes[..<30_000]), at: 0, of: other)
        #expect(part(file) == bytes)
        try await storage.write(Array(bytes[30_000...]), at: 30_000, of: other)
        #expect(try names == [TransferParts.name(of: other)])
    }

    @Test func `a file that another central sends is refused, and the one that sends it goes on`() async throws {
        defer { end() }
        let file = TransferFile(name: "a", bytes: bytes)
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(Array(bytes[..<400]), at: 0, of: file)
        await #expect(throws: TransferRefusal.busy) {
            try await storage.begin(file, isNew: false, from: "C0:00:00:00:00:02")
        }
        try await storage.write(Array(bytes[400...]), at: 400, of: file)
        try await storage.finish(file)
        #expect(contents("a") == bytes)
    }

    @Test func `a path that is no directory is not accepted`() {
        defer { end() }
        #expect(throws: BLEError.self) { try DirectoryTransferStorage(directory.path + "/missing") }
    }

    @Test(arguments: [".a", ".\u{301}a", "a.part", "a.PART", "a\u{0D4E}.part", "a/b", ".."])
    func `a name that is hidden, a part or elsewhere is refused`(name: String) {
        #expect(!DirectoryTransferStorage.accepts(name: name))
    }

    @Test func `a file of the same name and length, with other contents, is replaced`() async throws {
        defer { end() }
        let setting = try await TransferWorld(storage: storage)
        let other = [UInt8](bytes.reversed())
        for bytes in [bytes, other, other] { try await setting.client().send(bytes, as: "a").finish() }
        #expect(contents("a") == other)
        // What is complete is not sent again.
        #expect(setting.log.count == 2000)
        #expect(try names == ["a"])
    }
}
