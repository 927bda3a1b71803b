/// Reads big-endian fields from bytes whose length has been checked.
struct BigEndianReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the next number. Missing bytes count as 0.
    mutating func next<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number {
        var value: UInt64 = 0
        for _ in 0..<Number.bitWidth / 8 { value = value << 8 | UInt64(rest.popFirst() ?? 0) }
        return Number(truncatingIfNeeded: value)
    }

    /// Returns the next bytes, or all remaining ones if there are fewer.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

extension FixedWidthInteger {
    /// The bytes of the number, most significant first.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension Double {
    /// Returns the value times `scale`, rounded to an integer. Nil if that is not in `range`.
    func scaled(_ scale: Double, _ range: ClosedRange<Int>) -> Int? {
        let product = (self * scale).rounded()
        guard product >= Double(range.lowerBound), product <= Double(range.upperBound) else { return nil }
        return Int(product)
    }
}
