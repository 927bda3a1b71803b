/// A file that is transferred: its name, its length, and what identifies its contents.
public struct TransferFile: Hashable, Sendable {
    /// The name, 1 to 200 bytes in UTF-8, without control characters.
    public var name: String
    /// The number of bytes, up to 4,294,967,295.
    public var length: Int
    /// The CRC-32 (IEEE 802.3) of all bytes.
    public var checksum: UInt32
    /// Identifies the contents, together with length and checksum. By default the FNV-1a hash of all bytes, so that a
    /// later process goes on without having stored anything.
    public var identifier: UInt64

    /// The maximum length of a file, in bytes.
    public static let maximumLength = Int(UInt32.max)
    /// The maximum length of a name, in bytes.
    public static let maximumNameLength = 200

    /// Describes a file.
    public init(name: String, length: Int, checksum: UInt32, identifier: UInt64) {
        self.name = name
        self.length = length
        self.checksum = checksum
        self.identifier = identifier
    }

    /// Describes a file with contents.
    ///
    /// - Parameter identifier: identifies the contents. Nil for their hash.
    public init(name: String, bytes: [UInt8], identifier: UInt64? = nil) {
        var (checksum, hash) = (TransferChecksum(), FNV1a())
        checksum.append(bytes[...])
        if identifier == nil { hash.append(bytes[...]) }
        self.init(
            name: name, length: bytes.count, checksum: checksum.value, identifier: identifier ?? hash.value)
    }

    /// Describes a file whose contents are read piece by piece. Throws what the source throws.
    public init(name: String, length: Int, reading source: some TransferSource) async throws {
        var (checksum, hash, offset) = (TransferChecksum(), FNV1a(), 0)
        while offset < length {
            let bytes = try await source.read(at: offset, maximumLength: min(65_536, length - offset))
            guard 1...(length - offset) ~= bytes.count else { throw TransferRefusal.storageFailed }
            checksum.append(bytes)
            hash.append(bytes)
            offset += bytes.count
        }
        self.init(name: name, length: length, checksum: checksum.value, identifier: hash.value)
    }

    /// Whether a name can be sent: 1 to 200 bytes without control characters.
    public static func isValid(name: String) -> Bool {
        1...maximumNameLength ~= name.utf8.count
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether a name can be that of a file in a directory: ``isValid(name:)``, and without “/”, without “\\”, and
    /// without a leading “.”.
    public static func isPlain(name: String) -> Bool {
        isValid(name: name) && name.utf8.first != UInt8(ascii: ".")
            && !name.unicodeScalars.contains { $0 == "/" || $0 == "\\" || $0.properties.generalCategory == .format }
    }
}
