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
            try admit(request.central)
            let present = upload?.number
            try await storage.erase(slot: try request.count("slot") ?? 1)
            // Another central may have begun one meanwhile.
            if upload?.number == present, upload?.isBusy == false { upload = nil }
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
        try await forgetRemovedImage()
        try admit(request.central)
        if offset == 0, let answer = try await begin(request, data) { return answer }
        // The central begins again if it is told that nothing has arrived.
        guard let current = upload else { return ["off": 0] }
        upload?.holder.take(request.central, clock: request.clock)
        guard offset == current.offset, !current.isComplete else { return ["off": CBOR(current.offset)] }
        guard data.count <= current.length - offset else { throw SMPFailure.imageDataOverrun }
        try await perform(current) { try await storage.write(data, at: offset, image: current.image) }
        upload?.offset += data.count
        guard let stored = upload, stored.isComplete else { return ["off": CBOR(offset + data.count)] }
        return try await finish(stored)
    }

    /// Throws busy if another central uploads. Forgets an upload for which the storage hangs.
    private func admit(_ central: DeviceID) throws {
        guard let upload else { return }
        guard upload.isAvailable(to: central) else { throw SMPFailure(.busy) }
        if upload.isBusy { self.upload = nil }
    }

    /// Forgets a complete upload whose image the storage no longer has as one to start, such as after a reset that did
    /// not come from a central.
    private func forgetRemovedImage() async throws {
        guard let upload, let hash = upload.hash else { return }
        let isPresent = try await storage.imageSlots().contains {
            $0.image == upload.image && !$0.isActive && $0.hash == hash
        }
        if !isPresent, self.upload?.number == upload.number { self.upload = nil }
    }

    /// Begins an upload. Returns an answer if it is one that has begun already.
    private func begin(_ request: ManagementRequest, _ data: [UInt8]) async throws -> CBORMap? {
        guard let length = try request.count("len") else { throw SMPFailure.lengthMissing }
        let image = try request.count("image") ?? 0
        let digest = try request.optional("sha", \.bytes)
        guard digest == nil || digest?.count == SHA256.byteCount else { throw SMPFailure.invalidHash }
        if let current = upload, current.offset > 0, current.isSame(image: image, length: length, digest: digest) {
            upload?.holder.take(request.central, clock: request.clock)
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
        try admit(request.central)
        var begun = newUpload(image: image, length: length, digest: digest)
        begun.holder.take(request.central, clock: request.clock)
        upload = begun
        try await perform(begun) { try await storage.beginUpload(image: image, length: length) }
        return nil
    }

    /// Has the storage work for an upload, which is forgotten if that fails. Throws busy if another upload has taken
    /// its place meanwhile.
    private func perform<Value>(_ current: ReceivedUpload, _ body: () async throws -> Value) async throws -> Value {
        upload?.isBusy = true
        do {
            let value = try await body()
            guard upload?.number == current.number else { throw SMPFailure(.busy) }
            upload?.isBusy = false
            upload?.holder.handlerReturned()
            return value
        } catch {
            if upload?.number == current.number { upload = nil }
            throw error
        }
    }

    /// Checks the whole image.
    private func finish(_ stored: ReceivedUpload) async throws -> CBORMap {
        let bytes = try await perform(stored) { try await storage.uploadedBytes(image: stored.image) }
        if let digest = stored.digest, Array(SHA256.hash(data: bytes)) != digest {
            upload = nil
            return ["off": CBOR(stored.offset), "match": false]
        }
        let firmware: FirmwareImage
        do throws(FirmwareImageError) {
            firmware = try FirmwareImage(decoding: bytes)
        } catch {
            upload = nil
            throw Self.failure(error)
        }
        try await perform(stored) { try await storage.finishUpload(firmware, image: stored.image) }
        upload?.hash = firmware.hash
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
