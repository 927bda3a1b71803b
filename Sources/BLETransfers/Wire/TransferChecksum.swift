internal import BLE

/// The checksum of a file: CRC-32 of IEEE 802.3, with the polynomial 0x04C11DB7 reflected, inverted at the beginning
/// and the end.
public struct TransferChecksum: Hashable, Sendable {
    /// The checksum of the bytes so far.
    public private(set) var value: UInt32

    /// Creates a checksum.
    ///
    /// - Parameter value: the checksum of the bytes before.
    public init(_ value: UInt32 = 0) { self.value = value }

    /// Adds bytes.
    public mutating func append(_ bytes: ArraySlice<UInt8>) { value = CRC32.checksum(bytes, after: value) }
}

/// The 64-bit hash of Fowler, Noll and Vo (FNV-1a), which identifies the contents of a file.
struct FNV1a: Hashable, Sendable {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Adds bytes.
    mutating func append(_ bytes: ArraySlice<UInt8>) {
        var hash = value
        bytes.withUnsafeBufferPointer { bytes in
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        }
        value = hash
    }
}
