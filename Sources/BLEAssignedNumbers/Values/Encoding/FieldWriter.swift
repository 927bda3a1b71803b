internal import BLE

/// Joins encoded fields.
struct FieldWriter {
    private(set) var bytes: [UInt8] = []
    /// The number of bits of the last byte that are used. 0 if it is full.
    private var bit = 0
    /// The name of a field that contains all bytes up to the end.
    private var last: String?

    /// Appends a field. Returns the number that other fields may depend on.
    mutating func write(_ content: EncodedField, _ field: ValueFormat.Field) throws(BLEError) -> UInt64? {
        if let last {
            guard field.isRepeated, last == field.title else { throw field.error("cannot follow \(last)") }
        }
        if field.extendsToEnd { end(field) }
        switch content {
        case .bytes(let more):
            append(more)
            return nil
        case .flags(let flags, _):
            let count = if case .flags(let count?) = field.kind { count } else { flags < 256 ? 1 : 2 }
            append((0..<count).map { UInt8(truncatingIfNeeded: flags >> UInt64(8 * $0)) })
            return flags
        case .bits(let bits):
            if case .bits(let count) = field.kind {
                append(bits, count)
            } else {
                append((0..<field.byteCount).map { UInt8(truncatingIfNeeded: bits >> UInt128(8 * $0)) })
            }
            return UInt64(truncatingIfNeeded: bits)
        }
    }

    /// Records that a field contains all bytes up to the end.
    mutating func end(_ field: ValueFormat.Field) { last = field.title }

    private mutating func append(_ more: [UInt8]) {
        bit = 0
        bytes += more
    }

    private mutating func append(_ number: UInt128, _ count: Int) {
        for index in 0..<count {
            if bit == 0 { bytes.append(0) }
            bytes[bytes.count - 1] |= UInt8(truncatingIfNeeded: number >> UInt128(index) & 1) << UInt8(bit)
            bit = (bit + 1) % 8
        }
    }
}

extension ValueFormat.Field {
    /// The number of bytes of a number.
    fileprivate var byteCount: Int {
        switch kind {
        case .integer(let count, _, _), .medFloat(let count), .float(let count): count
        case .appearance: 2
        default: 1
        }
    }

    /// Whether the field consists of all remaining bytes.
    fileprivate var extendsToEnd: Bool {
        switch kind {
        case .flags(nil), .text(nil), .text16, .uuid(nil), .bytes(nil): !isRepeated
        default: false
        }
    }
}
