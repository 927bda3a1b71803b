import BLEFirmware
import BLETesting

/// A storage that does something before a slot is erased, a file is written, and after an upload was finished.
struct SlowFirmwareStorage: FirmwareStorage {
    let base: MemoryFirmwareStorage
    var onErase: @Sendable () async throws -> Void = {}
    var onWriteFile: @Sendable () async throws -> Void = {}
    var onFinish: @Sendable () async throws -> Void = {}

    func imageSlots() async throws -> [ImageSlot] { await base.imageSlots() }
    func slotSizes() async throws -> [ImageSlotSize] { await base.slotSizes() }
    func setState(hash: [UInt8]?, isConfirmed: Bool) async throws {
        try await base.setState(hash: hash, isConfirmed: isConfirmed)
    }
    func erase(slot: Int) async throws { try await onErase() }

    func beginUpload(image: Int, length: Int) async throws { try await base.beginUpload(image: image, length: length) }
    func write(_ bytes: [UInt8], at offset: Int, image: Int) async throws {
        try await base.write(bytes, at: offset, image: image)
    }
    func uploadedBytes(image: Int) async throws -> [UInt8] { await base.uploadedBytes(image: image) }
    func finishUpload(_ firmware: FirmwareImage, image: Int) async throws {
        try await base.finishUpload(firmware, image: image)
        try await onFinish()
    }

    func fileLength(_ name: String) async throws -> Int { try await base.fileLength(name) }
    func readFile(_ name: String, at offset: Int, maximumLength: Int) async throws -> [UInt8] {
        try await base.readFile(name, at: offset, maximumLength: maximumLength)
    }
    func writeFile(_ name: String, _ bytes: [UInt8], at offset: Int, length: Int?) async throws {
        try await onWriteFile()
        try await base.writeFile(name, bytes, at: offset, length: length)
    }
}
