public import BLE
internal import Crypto

/// A hash or a checksum of a file, as devices compute it.
public enum FileHash: Hashable, Sendable {
    /// CRC-32 of IEEE 802.3, which devices compute by default.
    case crc32(UInt32)
    /// SHA-256, 32 bytes.
    case sha256([UInt8])

    /// The kinds.
    public enum Kind: String, Hashable, Sendable {
        /// CRC-32 of IEEE 802.3.
        case crc32
        /// SHA-256.
        case sha256
    }
}

/// Files.
extension FirmwareClient {
    /// Returns the length of a file, in bytes.
    public func fileLength(_ name: String) async throws(BLEError) -> Int {
        try await session.fileLength(name)
    }

    /// Returns a hash of a file, or of its first bytes, which the device computes.
    ///
    /// - Parameters:
    ///   - kind: what the device computes. One that it does not support throws `managementFailed`.
    ///   - length: the number of bytes from the beginning. Nil for all.
    public func fileHash(
        _ name: String, _ kind: FileHash.Kind = .sha256, length: Int? = nil
    ) async throws(BLEError) -> FileHash {
        try await session.fileHash(name, kind, length: length)
    }

    /// Downloads a file.
    ///
    /// - Parameters:
    ///   - maximumLength: the maximum length, in bytes. A longer file throws `invalidLength`.
    ///   - progress: called with the number of bytes that have arrived, and the length, in bytes.
    public func download(
        _ name: String, maximumLength: Int = 1 << 24,
        progress: @Sendable (_ received: Int, _ total: Int) -> Void = { _, _ in }
    ) async throws(BLEError) -> [UInt8] {
        var bytes: [UInt8] = []
        var total: Int?
        repeat {
            let fields = try await session.request(
                .read, .file, ["name": .text(name), "off": CBOR(bytes.count)])
            let offset = try fields.required("off", \.integer)
            let data = try fields.required("data", \.bytes)
            let length = if let total { total } else { try fields.required("len", \.integer) }
            total = length
            guard length >= 0, length <= maximumLength else {
                throw BLEError(.invalidLength, "the file has \(length) bytes, more than \(maximumLength)")
                    .at(peripheral.id)
            }
            guard offset == bytes.count, bytes.count + data.count <= length, !data.isEmpty || length == bytes.count
            else {
                throw BLEError(
                    .invalidManagementResponse, "the device did not send the file's data at \(bytes.count)",
                    isRetryable: false
                ).at(peripheral.id)
            }
            bytes += data
            progress(bytes.count, length)
        } while bytes.count < total ?? 0
        return bytes
    }

    /// Uploads a file, in place of one with the same name. The upload begins with the iteration. It pauses, and throws
    /// `uploadFailed` and `invalidLength`, like ``upload(_:image:isUpgrade:reconnects:)``.
    ///
    /// - Parameters:
    ///   - name: the path on the device.
    ///   - continues: whether the upload goes on if the device has the beginning of the same file, as its SHA-256
    ///     tells. A device that cannot compute it receives the file from the beginning.
    ///   - reconnects: how many lost links in a row, without progress in between, the upload survives, from 0.
    public func upload(
        _ bytes: [UInt8], toFile name: String, continues: Bool = true, reconnects: Int = 0
    ) -> FirmwareUpload {
        let total = bytes.count
        let plan = UploadPlan(
            bytes: bytes, command: .file, firstTimeout: session.configuration.eraseTimeout, reconnects: reconnects,
            findOffset: { (session) throws(BLEError) in
                continues ? try await session.uploadedPart(of: bytes, name) : 0
            }
        ) { offset in
            var fields: CBORMap = ["off": CBOR(offset), "name": .text(name)]
            if offset == 0 { fields["len"] = CBOR(total) }
            return fields
        }
        return FirmwareUpload { [self] (report) throws(BLEError) in try await session.upload(plan, report) }
    }
}

extension SMPSession {
    func fileLength(_ name: String) async throws(BLEError) -> Int {
        try await request(.read, .fileStatus, ["name": .text(name)]).required("len", \.integer)
    }

    func fileHash(_ name: String, _ kind: FileHash.Kind, length: Int?) async throws(BLEError) -> FileHash {
        var fields: CBORMap = ["name": .text(name), "type": .text(kind.rawValue)]
        if let length { fields["len"] = CBOR(length) }
        let output = try await request(.read, .fileHash, fields).required("output") { $0 }
        switch (kind, output) {
        case (.crc32, .unsigned(let value)):
            if let value = UInt32(exactly: value) { return .crc32(value) }
        case (.sha256, .bytes(let hash)) where hash.count == 32: return .sha256(hash)
        default: break
        }
        throw .lacking(field: "output")
    }

    /// The number of bytes at the beginning of a file that the device has already. All of them if it has the whole
    /// file.
    fileprivate func uploadedPart(of bytes: [UInt8], _ name: String) async throws(BLEError) -> Int {
        do throws(BLEError) {
            let length = try await fileLength(name)
            guard length > 0, length <= bytes.count else { return 0 }
            let hash = try await fileHash(name, .sha256, length: length)
            return hash == .sha256(Array(SHA256.hash(data: bytes[..<length]))) ? length : 0
        } catch  where error.code == .managementFailed && !error.isRetryable {
            return 0
        }
    }
}
