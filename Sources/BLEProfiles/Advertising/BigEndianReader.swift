/// Reads big-endian fields off bytes whose number has been checked.
struct BigEndianReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// The next number; bytes that are missing count as 0.
    mutating func next<Number: FixedWidthInteger>(_ type: Number.Type = Number.self) -> Number {
        var value: UInt64 = 0
        for _ in 0..<Number.bitWidth / 8 { value = value << 8 | UInt64(rest.popFirst() ?? 0) }
        return Number(truncatingIfNeeded: value)
    }

    /// The next bytes, as far as there are any.
    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

extension FixedWidthInteger {
    /// The number's bytes, the most significant first.
    var bigEndianBytes: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension Double {
    /// The whole number nearest to `scale` times the value; nil where that is not in `range`.
    func scaled(_ scale: Double, _ range: ClosedRange<Int>) -> Int? {
        let product = (self * scale).rounded()
        guard product >= Double(range.lowerBound), product <= Double(range.upperBound) else { return nil }
        return Int(product)
    }
}
