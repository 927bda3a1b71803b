internal import BLE
internal import Crypto

/// Files.
extension FirmwarePeripheral {
    /// The number of files whose uploads are remembered.
    private static let maximumFileUploads = 16

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
            fileUploads = fileUploads.filter { $0.value.owner != request.central }
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
        if let present = fileUploads[name], !present.isAvailable(to: request.central) { throw SMPFailure(.busy) }
        var current = fileUploads[name]
        if offset == 0 {
            guard let length else { throw SMPFailure(.invalidValue) }
            current = ReceivedUpload(
                image: 0, length: length, digest: nil, owner: request.central, clock: request.clock)
        }
        if fileUploads[name] == nil, fileUploads.count >= Self.maximumFileUploads {
            fileUploads = fileUploads.filter { !$0.value.isAvailable(to: request.central) }
            guard fileUploads.count < Self.maximumFileUploads else { throw SMPFailure(.busy) }
        }
        current =
            current
            ?? ReceivedUpload(
                image: 0, length: .max, digest: nil, owner: request.central, clock: request.clock)
        current?.didAsk(request.central, clock: request.clock)
        current?.begin()
        fileUploads[name] = current
        defer { fileUploads[name]?.end(count: 0) }
        try await storage.writeFile(name, data, at: offset, length: length)
        if offset + data.count == current?.length { fileUploads[name] = nil }
        return ["off": CBOR(offset + data.count)]
    }

    private func hash(_ request: ManagementRequest) async throws -> CBORMap {
        let name = try request.required("name", \.text)
        let offset = try request.count("off") ?? 0
        let kind = try request.optional("type", \.text) ?? FileHash.Kind.sha256.rawValue
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
