internal import BLE
internal import Crypto

/// A firmware image for MCUboot, whose header, sizes and hash were checked.
///
/// The layout is a header of 32 bytes or more, the program, and one or two areas of TLVs, one of which has the hash of
/// everything before it that it protects (MCUboot documentation, "Image format"). The signature is the bootloader's
/// concern and is not checked.
public struct FirmwareImage: Hashable, Sendable {
    /// The whole image, as it is uploaded.
    public let bytes: [UInt8]
    /// The version in the header.
    public let version: FirmwareVersion
    /// The hash in the TLVs, which identifies the image in ``FirmwareClient/imageSlots()``: 32, 48 or 64 bytes.
    public let hash: [UInt8]
    /// The flags in the header.
    public let flags: UInt32

    /// The size of a header that MCUboot defines, in bytes. An image's own header may be longer.
    public static let headerSize = 32
    /// The first four bytes of an image, little-endian.
    static let magic: UInt32 = 0x96F3_B83D
    private static let protectedMagic: UInt16 = 0x6908
    private static let tlvMagic: UInt16 = 0x6907

    /// Whether the program is encrypted. Then the hash is that of the decrypted program, and is not checked.
    public var isEncrypted: Bool { flags & 0x0C != 0 }

    /// Checks an image of any length. Throws ``FirmwareImageError``.
    public init(decoding bytes: [UInt8]) throws(FirmwareImageError) {
        let header = try FirmwareImageHeader(bytes)
        let body = header.headerSize + header.imageSize
        guard bytes.count >= body else { throw .truncated(needed: body, actual: bytes.count) }
        var position = body
        if header.protectedSize > 0 {
            guard try Self.size(of: Self.protectedMagic, at: position, bytes) == header.protectedSize else {
                throw .invalidTLVs(offset: position)
            }
            position += header.protectedSize
        }
        let protected = position
        let size = try Self.size(of: Self.tlvMagic, at: position, bytes)
        guard position + size == bytes.count else {
            throw .trailingBytes(count: bytes.count - position - size)
        }
        guard let found = try Self.hash(in: bytes[position + 4..<position + size]) else { throw .noHash }
        self.bytes = bytes
        version = header.version
        flags = header.flags
        hash = found.hash
        guard !isEncrypted else { return }
        let computed = found.digest(bytes[..<protected])
        guard computed == hash else { throw .wrongHash(stored: hash, computed: computed) }
    }

    /// Returns the size of an area of TLVs, with its own header of 4 bytes.
    private static func size(of magic: UInt16, at offset: Int, _ bytes: [UInt8]) throws(FirmwareImageError) -> Int {
        guard bytes.count >= offset + 4 else { throw .truncated(needed: offset + 4, actual: bytes.count) }
        let size = Int(bytes[offset + 2..<offset + 4].littleEndian)
        guard bytes[offset..<offset + 2].littleEndian == UInt64(magic), size >= 4 else {
            throw .invalidTLVs(offset: offset)
        }
        guard bytes.count >= offset + size else { throw .truncated(needed: offset + size, actual: bytes.count) }
        return size
    }

    private struct Hash {
        let hash: [UInt8]
        let digest: (ArraySlice<UInt8>) -> [UInt8]
    }

    /// Finds the hash among TLVs: the type of 2 bytes, the length of 2 bytes, and the value.
    private static func hash(in tlvs: ArraySlice<UInt8>) throws(FirmwareImageError) -> Hash? {
        var rest = tlvs
        var found: Hash?
        while !rest.isEmpty {
            let start = rest.startIndex
            guard rest.count >= 4 else { throw .invalidTLVs(offset: start) }
            let type = rest.prefix(2).littleEndian
            let length = Int(rest[start + 2..<start + 4].littleEndian)
            guard rest.count >= 4 + length else { throw .invalidTLVs(offset: start) }
            let value = rest[(start + 4)..<(start + 4 + length)]
            rest = rest.dropFirst(4 + length)
            let digest: ((ArraySlice<UInt8>) -> [UInt8])? =
                switch (type, length) {
                case (0x10, 32): { Array(SHA256.hash(data: $0)) }
                case (0x11, 48): { Array(SHA384.hash(data: $0)) }
                case (0x12, 64): { Array(SHA512.hash(data: $0)) }
                case (0x10...0x12, _): throw .invalidTLVs(offset: start)
                default: nil
                }
            guard let digest else { continue }
            guard found == nil else { throw .severalHashes }
            found = Hash(hash: Array(value), digest: digest)
        }
        return found
    }

    /// Creates an image without a signature: for simulated devices and tests, or for a bootloader that checks none.
    ///
    /// - Parameters:
    ///   - program: the bytes after the header, fewer than 2³².
    ///   - headerSize: the size of the header, 32 to 65535 bytes. Others are replaced by the nearest of these.
    public init(version: FirmwareVersion, program: [UInt8], headerSize: Int = FirmwareImage.headerSize) {
        let headerSize = min(max(Self.headerSize, headerSize), Int(UInt16.max))
        var writer = ValueWriter()
        writer.uint32(Self.magic)
        writer.uint32(0)
        writer.uint16(UInt16(headerSize))
        writer.uint16(0)
        writer.uint32(UInt32(truncatingIfNeeded: program.count))
        writer.uint32(0)
        writer.bytes([version.major, version.minor])
        writer.uint16(version.revision)
        writer.uint32(version.build)
        writer.bytes(repeatElement(0, count: headerSize - writer.bytes.count))
        writer.bytes(program)
        hash = Array(SHA256.hash(data: writer.bytes))
        writer.uint16(Self.tlvMagic)
        writer.uint16(4 + 4 + 32)
        writer.uint16(0x10)
        writer.uint16(32)
        writer.bytes(hash)
        bytes = writer.bytes
        self.version = version
        flags = 0
    }

    /// The SHA-256 of the whole image, which identifies an upload.
    var digest: [UInt8] { Array(SHA256.hash(data: bytes)) }
}

/// The header of an image, which its first 32 bytes contain.
struct FirmwareImageHeader {
    let headerSize: Int
    let imageSize: Int
    let protectedSize: Int
    let flags: UInt32
    let version: FirmwareVersion

    /// Decodes the beginning of an image.
    init(_ bytes: [UInt8]) throws(FirmwareImageError) {
        guard bytes.count >= FirmwareImage.headerSize else {
            throw .truncated(needed: FirmwareImage.headerSize, actual: bytes.count)
        }
        let magic = UInt32(bytes[..<4].littleEndian)
        guard magic == FirmwareImage.magic else { throw .wrongMagic(magic) }
        headerSize = Int(bytes[8..<10].littleEndian)
        protectedSize = Int(bytes[10..<12].littleEndian)
        imageSize = Int(bytes[12..<16].littleEndian)
        flags = UInt32(bytes[16..<20].littleEndian)
        version = FirmwareVersion(
            bytes[20], bytes[21], UInt16(bytes[22..<24].littleEndian), build: UInt32(bytes[24..<28].littleEndian))
        guard headerSize >= FirmwareImage.headerSize else { throw .invalidHeaderSize(headerSize) }
    }
}
