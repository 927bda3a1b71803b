extension ArraySlice<UInt8> {
    /// The number of 4 bytes at a position from the beginning, the least significant byte first.
    func uint32(at position: Int) -> UInt32 {
        let start = startIndex + position
        return UInt32(self[start]) | UInt32(self[start + 1]) << 8 | UInt32(self[start + 2]) << 16
            | UInt32(self[start + 3]) << 24
    }
}

extension [UInt8] {
    /// Appends a number of 4 bytes, the least significant first. Greater numbers are cut.
    mutating func append(uint32 number: Int) {
        for shift in stride(from: 0, to: 32, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
