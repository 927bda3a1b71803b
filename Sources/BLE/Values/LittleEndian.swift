extension Collection<UInt8> {
    /// The number that at most 8 bytes encode, the least significant first.
    package var littleEndian: UInt64 { reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

extension FixedWidthInteger {
    /// The number's bytes, the least significant first.
    package var littleEndianBytes: [UInt8] {
        stride(from: 0, to: Self.bitWidth, by: 8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}
