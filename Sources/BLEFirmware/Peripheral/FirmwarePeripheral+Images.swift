internal import BLE
internal import Crypto

/// The firmware images.
extension FirmwarePeripheral {
    func answerImage(_ request: ManagementRequest) async throws -> CBORMap {
        switch (request.operation, request.command) {
        case (.read, .imageState): return try await state()
        case (.write, .imageState):
            try await storage.setState(
                hash: try request.optional("hash", \.bytes),
                isConfirmed: try request.optional("confirm", \.bool) ?? false)
            return try await state()
        case (.write, .imageUpload): return try await receive(request)
        case (.write, .imageErase):
            if let upload, !upload.isAvailable(to: request.central) { throw SMPFailure(.busy) }
            try await storage.erase(slot: try request.count("slot") ?? 1)
            if upload?.isBusy == false { upload = nil }
            return [:]
        case (.read, .slotInfo): return try await slotInfo()
        default: throw SMPFailure(.notSupported)
        }
    }

    private func state() async throws -> CBORMap {
        ["images": .array(try await storage.imageSlots().map(\.fields)), "splitStatus": 0]
    }

    private func slotInfo() async throws -> CBORMap {
        let sizes = try await storage.slotSizes()
        let images = Set(sizes.map(\.image)).sorted().map { image in
            let slots = sizes.filter { $0.image == image }.map { size in
                var fields: CBORMap = ["slot": CBOR(size.slot), "size": CBOR(size.bytes)]
                if let uploadImage = size.uploadImage { fields["upload_image_id"] = CBOR(uploadImage) }
                return CBOR.map(fields)
            }
            return CBOR.map(["image": CBOR(image), "slots": .array(slots)])
        }
        return ["images": .array(images)]
    }

    // MARK: Upload

    private func receive(_ request: ManagementRequest) async throws -> CBORMap {
        guard let offset = try request.count("off") else { throw SMPFailure.offsetMissing }
        let data = try request.required("data", \.bytes)
        if let upload, !upload.isAvailable(to: request.central) { throw SMPFailure(.busy) }
        if offset == 0, let answer = try await begin(request, data) { return answer }
        // The central begins again if it is told that nothing has arrived.
        guard var current = upload else { return ["off": 0] }
        current.didAsk(request.central, clock: request.clock)
        upload = current
        guard offset == current.offset, !current.isComplete else { return ["off": CBOR(current.offset)] }
        guard data.count <= current.length - offset else { throw SMPFailure.imageDataOverrun }
        try await store(data, current)
        guard let stored = upload, stored.isComplete else { return ["off": CBOR(upload?.offset ?? 0)] }
        return try await finish(stored)
    }

    /// Begins an upload. Returns an answer if it is one that has begun already.
    private func begin(_ request: ManagementRequest, _ data: [UInt8]) async throws -> CBORMap? {
        guard let length = try request.count("len") else { throw SMPFailure.lengthMissing }
        let image = try request.count("image") ?? 0
        let digest = try request.optional("sha", \.bytes)
        guard digest == nil || digest?.count == SHA256.byteCount else { throw SMPFailure.invalidHash }
        if var current = upload, current.offset > 0, current.isSame(image: image, length: length, digest: digest) {
            current.didAsk(request.central, clock: request.clock)
            upload = current
            var fields: CBORMap = ["off": CBOR(current.offset)]
            if current.isComplete { fields["match"] = true }
            return fields
        }
        let header: FirmwareImageHeader
        do throws(FirmwareImageError) {
            header = try FirmwareImageHeader(data)
        } catch {
            if case .wrongMagic = error { throw SMPFailure.invalidImageMagic }
            throw SMPFailure.invalidImageHeader
        }
        if try request.optional("upgrade", \.bool) == true {
            let active = try await storage.imageSlots().first { $0.isActive && $0.image == image }
            if let version = active.flatMap({ FirmwareVersion($0.version) }), header.version <= version {
                throw SMPFailure.currentVersionIsNewer
            }
        }
        // Another central may have begun meanwhile.
        if let upload, !upload.isAvailable(to: request.central) { throw SMPFailure(.busy) }
        var begun = ReceivedUpload(
            image: image, length: length, digest: digest, owner: request.central, clock: request.clock)
        begun.begin()
        upload = begun
        do {
            try await storage.beginUpload(image: image, length: length)
        } catch {
            upload = nil
            throw error
        }
        upload?.end(count: 0)
        return nil
    }

    private func store(_ data: [UInt8], _ current: ReceivedUpload) async throws {
        upload?.begin()
        do {
            try await storage.write(data, at: current.offset, image: current.image)
        } catch {
            upload = nil
            throw error
        }
        upload?.end(count: data.count)
    }

    /// Checks the whole image.
    private func finish(_ stored: ReceivedUpload) async throws -> CBORMap {
        upload?.begin()
        do {
            let bytes = try await storage.uploadedBytes(image: stored.image)
            if let digest = stored.digest, Array(SHA256.hash(data: bytes)) != digest {
                upload = nil
                return ["off": CBOR(stored.offset), "match": false]
            }
            let firmware: FirmwareImage
            do throws(FirmwareImageError) {
                firmware = try FirmwareImage(decoding: bytes)
            } catch {
                throw Self.failure(error)
            }
            try await storage.finishUpload(firmware, image: stored.image)
        } catch {
            upload = nil
            throw error
        }
        upload?.end(count: 0)
        var fields: CBORMap = ["off": CBOR(stored.offset)]
        if stored.digest != nil { fields["match"] = true }
        return fields
    }

    private static func failure(_ error: FirmwareImageError) -> SMPFailure {
        switch error {
        case .wrongMagic: .invalidImageMagic
        case .invalidHeaderSize: .invalidImageHeader
        case .truncated, .invalidTLVs, .trailingBytes: .image(5)
        case .noHash: .hashNotFound
        case .severalHashes: .image(6)
        case .wrongHash: .invalidHash
        }
    }
}
