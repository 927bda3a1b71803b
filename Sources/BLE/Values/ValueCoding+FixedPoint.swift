extension ValueCoding where Value == Double {
    /// A fixed-point number, sent as an integer of the given format.
    ///
    /// ```swift
    /// extension Characteristic where Value == Double {
    ///     static var flow: Self { Characteristic(.fixedPoint(.uint16, dividedBy: 100), BluetoothUUID(0xFF01)) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - divisor: the integer is divided by this: 100 for a resolution of 0.01.
    ///   - allowed: the integers that may be sent. Others throw `invalidValue`. Nil for all integers of the format.
    public static func fixedPoint(
        _ format: IntegerFormat, dividedBy divisor: Double = 1, allowed: ClosedRange<Int>? = nil
    ) -> Self {
        let number = FixedPoint(format: format, divisor: divisor, allowed: allowed ?? format.range)
        return ValueCoding(
            decode: { (bytes) throws(BLEError) in Double(try number.checked(number.integer(bytes))) / divisor },
            encode: { (value) throws(BLEError) in try number.bytes(number.checked(number.integer(value))) })
    }
}

extension ValueCoding where Value == Double? {
    /// A fixed-point number, sent as an integer of the given format. One integer means that the value is not known.
    ///
    /// - Parameters:
    ///   - divisor: the integer is divided by this: 100 for a resolution of 0.01.
    ///   - unknown: the integer that is sent for nil.
    ///   - allowed: the other integers that may be sent. All others throw `invalidValue`. Nil for all integers of the
    ///     format.
    public static func fixedPoint(
        _ format: IntegerFormat, dividedBy divisor: Double = 1, unknown: Int, allowed: ClosedRange<Int>? = nil
    ) -> Self {
        let number = FixedPoint(format: format, divisor: divisor, allowed: allowed ?? format.range)
        return ValueCoding(
            decode: { (bytes) throws(BLEError) in
                let integer = try number.integer(bytes)
                return integer == unknown ? nil : Double(try number.checked(integer)) / divisor
            },
            encode: { (value) throws(BLEError) in
                guard let value else { return try number.bytes(unknown) }
                let integer = try number.checked(number.integer(value))
                guard integer != unknown else {
                    throw BLEError(.invalidValue, "\(value) is reserved for an unknown value")
                }
                return try number.bytes(integer)
            })
    }
}

private struct FixedPoint: Sendable {
    let format: IntegerFormat
    let divisor: Double
    let allowed: ClosedRange<Int>

    func integer(_ bytes: [UInt8]) throws(BLEError) -> Int {
        try bytes.span.withUnsafeBufferPointer { (bytes) throws(BLEError) in
            var reader = ValueReader(bytes)
            let integer = try reader.integer(format)
            try reader.end()
            return integer
        }
    }

    func integer(_ value: Double) throws(BLEError) -> Int {
        guard let integer = Int(exactly: (value * divisor).rounded()) else {
            throw BLEError(.invalidValue, "\(value) cannot be represented as an integer")
        }
        return integer
    }

    func checked(_ integer: Int) throws(BLEError) -> Int {
        guard allowed.contains(integer) else {
            let range = "\(Double(allowed.lowerBound) / divisor) to \(Double(allowed.upperBound) / divisor)"
            throw BLEError(.invalidValue, "\(Double(integer) / divisor) is not in the range \(range)")
        }
        return integer
    }

    func bytes(_ integer: Int) throws(BLEError) -> [UInt8] {
        var writer = ValueWriter()
        try writer.integer(integer, format)
        return writer.bytes
    }
}
