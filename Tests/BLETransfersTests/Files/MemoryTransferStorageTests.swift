import BLE
import BLETesting
import Testing

@testable import BLETransfers

/// Received files in memory.
@Suite(.hangLimit) struct MemoryTransferStorageTests {
    private let bytes = [UInt8].random(1000)
    private let peer: DeviceID = "C0:00:00:00:00:01"
    private let other: DeviceID = "C0:00:00:00:00:02"

    /// Stores the beginning of a file, as a transfer that is interrupted does.
    private func interrupt(_ file: TransferFile, _ storage: MemoryTransferStorage, count: Int = 400) async throws {
        _ = try await storage.begin(file, isNew: false, from: peer)
        try await storage.write(Array(bytes[..<count]), at: 0, of: file)
        await storage.suspend(file)
    }

    @Test func `a part goes on where it ended`() async throws {
        let storage = MemoryTransferStorage()
        let file = TransferFile(name: "a", bytes: bytes)
        try await interrupt(file, storage)
        #expect(try await storage.begin(file, isNew: false, from: other) == 400)
        #expect(try await storage.read(file, at: 100, maximumLength: 50) == bytes[100..<150])
        await #expect(throws: TransferRefusal.storageFailed) { try await storage.finish(file) }
        try await storage.write(Array(bytes[400...]), at: 400, of: file)
        try await storage.finish(file)
        #expect(await storage.files == ["a": bytes])
        let empty = TransferFile(name: "empty", bytes: [])
        #expect(try await storage.begin(empty, isNew: false, from: peer) == 0)
        try await storage.finish(empty)
        #expect(await storage.files["empty"] == [])
    }

    @Test func `an offer that is refused, or without data, discards nothing`() async throws {
        let storage = MemoryTransferStorage(files: ["kept": Array(bytes[..<500])], capacity: 1000)
        let file = TransferFile(name: "a", length: 450, checksum: 1, identifier: 1)
        try await interrupt(file, storage)
        let offers: [(Int, TransferRefusal?)] = [(1001, .tooLarge), (501, .noRoom), (500, nil)]
        for (length, refusal) in offers {
            for name in ["a", "b"] {
                let offer = TransferFile(name: name, length: length, checksum: 2, identifier: 2)
                do {
                    #expect(try await storage.begin(offer, isNew: false, from: peer) == 0)
                    #expect(refusal == nil)
                    await storage.suspend(offer)
                } catch {
                    #expect(error as? TransferRefusal == refusal)
                }
                #expect(await storage.partLengths == ["a": 400])
            }
        }
        #expect(try await storage.begin(file, isNew: false, from: peer) == 400)
    }

    @Test func `the first byte of another file of the name discards its part`() async throws {
        let storage = MemoryTransferStorage(capacity: 1000)
        let (file, next) = (TransferFile(name: "a", bytes: bytes), TransferFile(name: "a", bytes: [1]))
        try await interrupt(file, storage)
        _ = try await storage.begin(next, isNew: false, from: peer)
        try await storage.write([1], at: 0, of: next)
        #expect(await storage.partLengths == ["a": 1])
    }

    @Test func `an offer takes no room from others`() async throws {
        let storage = MemoryTransferStorage(capacity: 1000)
        let large = TransferFile(name: "large", bytes: bytes)
        _ = try await storage.begin(large, isNew: false, from: peer)
        let file = TransferFile(name: "a", bytes: Array(bytes[..<900]))
        _ = try await storage.begin(file, isNew: false, from: other)
        try await storage.write(Array(bytes[..<900]), at: 0, of: file)
        try await storage.finish(file)
        #expect(await storage.files == ["a": Array(bytes[..<900])])
        await #expect(throws: TransferRefusal.noRoom) { try await storage.write(bytes, at: 0, of: large) }
    }

    @Test func `bytes that arrive discard parts that are not received, the oldest first`() async throws {
        let storage = MemoryTransferStorage(capacity: 1000)
        let files = (0..<3).map { TransferFile(name: "\($0)", bytes: bytes) }
        for file in files[..<2] { try await interrupt(file, storage) }
        _ = try await storage.begin(files[2], isNew: false, from: peer)
        try await storage.write(Array(bytes[..<200]), at: 0, of: files[2])
        #expect(await storage.partLengths == ["0": 400, "1": 400, "2": 200])
        try await storage.write(Array(bytes[200..<600]), at: 200, of: files[2])
        #expect(await storage.partLengths == ["1": 400, "2": 600])
        try await storage.write(Array(bytes[600...]), at: 600, of: files[2])
        #expect(await storage.partLengths == ["2": 1000])
    }

    @Test func `there are at most as many names as allowed, and files that were taken make room`() async throws {
        let storage = MemoryTransferStorage(maximumFiles: 2) { _, _ in }
        for number in 0..<4 {
            let file = TransferFile(name: "\(number)", bytes: bytes)
            _ = try await storage.begin(file, isNew: false, from: peer)
            try await storage.write(bytes, at: 0, of: file)
            try await storage.finish(file)
            await storage.suspend(file)
        }
        #expect(await Set(storage.files.keys) == ["2", "3"])
        for name in ["a", "b"] {
            _ = try await storage.begin(TransferFile(name: name, bytes: bytes), isNew: false, from: peer)
        }
        await #expect(throws: TransferRefusal.noRoom) {
            try await storage.begin(TransferFile(name: "c", bytes: bytes), isNew: false, from: peer)
        }
    }

    @Test func `a file of a name that another central sends is refused`() async throws {
        let storage = MemoryTransferStorage()
        let file = TransferFile(name: "a", bytes: bytes)
        _ = try await storage.begin(file, isNew: false, from: peer)
        for offer in [file, TransferFile(name: "a", bytes: [1])] {
            await #expect(throws: TransferRefusal.busy) { try await storage.begin(offer, isNew: false, from: other) }
        }
        await storage.suspend(file)
        #expect(try await storage.begin(file, isNew: false, from: other) == 0)
    }
}
