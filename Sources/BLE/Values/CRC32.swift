/// CRC-32 of IEEE 802.3: the polynomial 0x04C11DB7 reflected, inverted at the beginning and the end.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    /// Returns the checksum of bytes, or of bytes that follow others.
    ///
    /// - Parameter earlier: the checksum of those before.
    package static func checksum(_ bytes: ArraySlice<UInt8>, after earlier: UInt32 = 0) -> UInt32 {
        var checksum = ~earlier
        table.withUnsafeBufferPointer { table in
            bytes.withUnsafeBufferPointer { bytes in
                for byte in bytes { checksum = checksum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: checksum) ^ byte)] }
            }
        }
        return ~checksum
    }
}
