/// What is wrong with a firmware image.
public enum FirmwareImageError: Error, Hashable, Sendable {
    /// The image ends too early: it has `actual` bytes, of at least `needed`.
    case truncated(needed: Int, actual: Int)
    /// The first four bytes are not those of an image.
    case wrongMagic(UInt32)
    /// The header declares a size of less than 32 bytes for itself.
    case invalidHeaderSize(Int)
    /// The TLVs at the offset, in bytes from the beginning of the image, are not valid.
    case invalidTLVs(offset: Int)
    /// Bytes follow the last TLV.
    case trailingBytes(count: Int)
    /// No TLV has a hash.
    case noHash
    /// Several TLVs have a hash.
    case severalHashes
    /// The hash is not that of the image: the image was modified, or not completely written.
    case wrongHash(stored: [UInt8], computed: [UInt8])
}

extension FirmwareImageError: CustomStringConvertible {
    /// A description of the problem.
    public var description: String {
        switch self {
        case .truncated(let needed, let actual): "it has \(actual) bytes, but needs at least \(needed)"
        case .wrongMagic(let magic):
            "it begins with 0x\(String(magic, radix: 16)) instead of 0x\(String(FirmwareImage.magic, radix: 16))"
        case .invalidHeaderSize(let size): "its header declares \(size) bytes for itself"
        case .invalidTLVs(let offset): "the TLVs at offset \(offset) are not valid"
        case .trailingBytes(let count): "\(count) bytes follow the last TLV"
        case .noHash: "it has no hash"
        case .severalHashes: "it has several hashes"
        case .wrongHash: "its hash is not the hash in its TLVs"
        }
    }
}
