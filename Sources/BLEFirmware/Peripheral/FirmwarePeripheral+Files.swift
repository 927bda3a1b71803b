internal import BLE
internal import Crypto

/// Files.
extension FirmwarePeripheral {
    /// The number of files whose uploads are remembered, in total and of one central.
    private static let maximumFileUploads = 16, maximumFileUploadsOfCentral = 4

    func answerFile(_ request: ManagementRequest) async throws -> CBORMap {
        switch (request.operation, request.command) {
        case (.read, .file): return try await read(request)
        case (.write, .file): return try await write(request)
        case (.read, .fileStatus):
            return ["len": CBOR(try await storage.fileLength(try request.required("name", \.text)))]
        case (.read, .fileHash): return try await hash(request)
        case (.read, .fileHashTypes):
            return ["types": ["crc32": ["format": 0, "size": 4], "sha256": ["format": 1, "size": 32]]]
        case (.write, .fileClose):
            // The storage still works for those that are busy.
            fileUploads = fileUploads.filter { $0.value.holder.central != request.central || $0.value.isBusy }
            return [:]
        default: throw SMPFailure(.notSupported)
        }
    }

    private func read(_ request: ManagementRequest) async throws -> CBORMap {
        let name = try request.required("name", \.text)
        let offset = try request.count("off") ?? 0
        let length = try await storage.fileLength(name)
        guard offset <= length else { throw SMPFailure.offsetPastEndOfFile }
        // Room for the header, the keys, two numbers and the length of the data.
        let room = parameters.bufferSize - SMPHeader.size - 32
        let data = try await storage.readFile(name, at: offset, maximumLength: room)
        var fields: CBORMap = ["off": CBOR(offset), "data": .bytes(data)]
        if offset == 0 { fields["len"] = CBOR(length) }
        return fields
    }

    private func write(_ request: ManagementRequest) async throws -> CBORMap {
        let name = try request.required("name", \.text)
        guard let offset = try request.count("off") else { throw SMPFailure(.invalidValue) }
        let data = try request.required("data", \.bytes)
        let length = try request.count("len")
        guard offset > 0 || length != nil else { throw SMPFailure(.invalidValue) }
        let present = fileUploads[name]
        guard present?.isAvailable(to: request.central) ?? true else { throw SMPFailure(.busy) }
        if present == nil { try makeRoom(for: request.central) }
        var current =
            present.flatMap { offset > 0 ? $0 : nil } ?? newUpload(image: 0, length: length ?? .max, digest: nil)
        // A request whose storage hangs no longer has the record.
        current.number = nextNumber()
        current.holder.take(request.central, clock: request.clock)
        current.isBusy = true
        fileUploads[name] = current
        defer {
            if fileUploads[name]?.number == current.number {
                fileUploads[name]?.isBusy = false
                fileUploads[name]?.holder.handlerReturned()
            }
        }
        try await storage.writeFile(name, data, at: offset, length: length)
        if offset + data.count == current.length, fileUploads[name]?.number == current.number {
            fileUploads[name] = nil
        }
        return ["off": CBOR(offset + data.count)]
    }

    /// Makes room for another upload of a file: forgets the central's oldest one if it has as many as it may have, and
    /// otherwise the oldest one that another central has left if there are as many as there may be. Throws busy if
    /// there is none.
    private func makeRoom(for central: DeviceID) throws {
        let own = fileUploads.filter { $0.value.holder.central == central }
        if own.count >= Self.maximumFileUploadsOfCentral {
            let oldest = own.filter { !$0.value.isBusy }.min { $0.value.number < $1.value.number }
            guard let oldest else { throw SMPFailure(.busy) }
            fileUploads[oldest.key] = nil
        }
        guard fileUploads.count >= Self.maximumFileUploads else { return }
        let left = fileUploads.filter { $0.value.holder.central != central && $0.value.isAvailable(to: central) }
        guard let oldest = left.min(by: { $0.value.number < $1.value.number }) else { throw SMPFailure(.busy) }
        fileUploads[oldest.key] = nil
    }

    private func hash(_ request: ManagementRequest) async throws -> CBORMap {
        let name = try request.required("name", \.text)
        let offset = try request.count("off") ?? 0
        // The default of Zephyr's fs_mgmt.c.
        let kind = try request.optional("type", \.text) ?? FileHash.Kind.crc32.rawValue
        let length = try await storage.fileLength(name)
        guard offset <= length else { throw SMPFailure.offsetPastEndOfFile }
        let count = min(try request.count("len") ?? length, length - offset)
        let bytes = try await storage.readFile(name, at: offset, maximumLength: count)
        var fields: CBORMap = ["type": .text(kind), "len": CBOR(bytes.count)]
        if offset > 0 { fields["off"] = CBOR(offset) }
        switch FileHash.Kind(rawValue: kind) {
        case .sha256?: fields["output"] = .bytes(Array(SHA256.hash(data: bytes)))
        case .crc32?: fields["output"] = CBOR(Int(CRC32.checksum(bytes[...])))
        case nil: throw SMPFailure.unknownFileHash
        }
        return fields
    }
}
