import BLE

/// Decodes the fields of a value.
struct ValueDecoder {
    private let bytes: ArraySlice<UInt8>
    private var position: Int
    /// The number of bits that were read from the byte at the position.
    private var bit = 0

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    /// The number of unread bytes. A partly read byte is not counted.
    var remaining: Int { bytes.endIndex - position - (bit > 0 ? 1 : 0) }

    /// Decodes the fields of a structure that are present.
    mutating func values(of fields: [ValueFormat.Field]) throws(BLEError) -> [FieldValue] {
        var values: [FieldValue] = []
        var numbers = [UInt64?](repeating: nil, count: fields.count)
        for (index, field) in fields.enumerated() where isThere(field, numbers) {
            if field.isRepeated {
                while remaining > 0 { values.append(FieldValue(field, try read(field).content)) }
            } else {
                var (content, number) = try read(field)
                if case .flags(let raw, _) = content {
                    content = .flags(raw, names: field.names(raw, without: Self.announcing(index, fields)))
                }
                numbers[index] = number
                values.append(FieldValue(field, content))
            }
        }
        return values
    }

    /// Returns the bits in a flags field that only announce other fields.
    private static func announcing(_ flags: Int, _ fields: [ValueFormat.Field]) -> Set<Int> {
        Set(
            fields.flatMap(\.conditions).compactMap { condition in
                if case .bit(let field, let bit, _) = condition, field == flags { bit } else { nil }
            })
    }

    private func isThere(_ field: ValueFormat.Field, _ numbers: [UInt64?]) -> Bool {
        func number(_ field: Int) -> UInt64? { numbers.indices.contains(field) ? numbers[field] : nil }
        return field.conditions.allSatisfy { condition in
            switch condition {
            case .bit(let field, let bit, let isSet):
                number(field).map { ($0 >> UInt64(bit) & 1 == 1) == isSet } ?? false
            case .equal(let field, let value): number(field) == value
            case .unequal(let field, let value): number(field).map { $0 != value } ?? false
            case .bytesLeft: remaining > 0
            }
        }
    }

    /// Decodes a field. Returns its content, and the number that other fields may depend on.
    private mutating func read(_ field: ValueFormat.Field) throws(BLEError) -> (
        content: FieldValue.Content, number: UInt64?
    ) {
        switch field.kind {
        case .integer(let count, let bits, let isSigned):
            let raw = Self.unsigned(try take(count, field)) & (bits < 128 ? 1 << UInt128(bits) - 1 : .max)
            return (try integer(field, raw, bits: bits, isSigned: isSigned), UInt64(truncatingIfNeeded: raw))
        case .bits(let count):
            let raw = try takeBits(count, field)
            return (try integer(field, UInt128(raw), bits: count, isSigned: false), raw)
        case .timeExponential:
            let raw = try take(1, field).first ?? 0
            if let special = field.specials[UInt64(raw)] { return (.special(special), nil) }
            let exponent = Int(raw) - 64
            let power = (0..<abs(exponent)).reduce(1.0) { power, _ in power * 1.1 }
            return (.number(exponent < 0 ? 1 / power : power), nil)
        case .medFloat(let count):
            return (Self.medFloat(Self.unsigned(try take(count, field)), bytes: count, field.scale), nil)
        case .float(let count):
            let raw = Self.unsigned(try take(count, field))
            let number =
                count == 4
                ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: raw)))
                : Double(bitPattern: UInt64(truncatingIfNeeded: raw))
            guard number.isFinite else {
                return (.special(number.isNaN ? "not a number" : number < 0 ? "-infinity" : "infinity"), nil)
            }
            return (.number(number), nil)
        case .appearance:
            let raw = UInt16(truncatingIfNeeded: Self.unsigned(try take(2, field)))
            return (.choice(UInt64(raw), name: Appearance(rawValue: raw).name), UInt64(raw))
        case .boolean:
            let isTrue = (try take(1, field).first ?? 0) & 1 == 1
            return (.choice(isTrue ? 1 : 0, name: isTrue ? "true" : "false"), isTrue ? 1 : 0)
        case .flags(let count):
            guard let count = count ?? ((1...2).contains(remaining) ? remaining : nil) else {
                throw error(field, "has \(remaining) bytes, not 1 or 2")
            }
            let raw = UInt64(truncatingIfNeeded: Self.unsigned(try take(count, field)))
            return (.flags(raw, names: field.names(raw)), raw)
        case .text(let count): return (.text(try text(field, try take(count ?? remaining, field))), nil)
        case .terminatedText:
            guard let end = bytes[position...].firstIndex(of: 0) else { throw error(field, "is not terminated") }
            let text = try text(field, try take(end - position, field))
            _ = try take(1, field)
            return (.text(text), nil)
        case .text16: return (.text(try text16(field, try take(remaining, field))), nil)
        case .uuid(let count):
            let bytes = try take(count ?? (remaining == 2 ? 2 : 16), field)
            let raw = Self.unsigned(bytes)
            return (
                .uuid(
                    bytes.count == 2
                        ? BluetoothUUID(UInt32(raw))
                        : BluetoothUUID(high: UInt64(raw >> 64), low: UInt64(truncatingIfNeeded: raw))), nil
            )
        case .bytes(let count): return (.bytes(Array(try take(count ?? remaining, field))), nil)
        case .structure(let fields): return (.fields(try values(of: fields)), nil)
        }
    }

    // --- numbers ---

    private func integer(
        _ field: ValueFormat.Field, _ raw: UInt128, bits: Int, isSigned: Bool
    ) throws(BLEError) -> FieldValue.Content {
        if bits <= 64, let special = field.specials[UInt64(raw)] { return .special(special) }
        let isNegative = isSigned && raw >> UInt128(bits - 1) & 1 == 1
        let value = isNegative && bits < 128 ? Int128(raw) - 1 << Int128(bits) : Int128(truncatingIfNeeded: raw)
        if let range = field.range, value < range.lowerBound || value > range.upperBound {
            throw error(field, "is \(value), which is prohibited")
        }
        if !isSigned, value < 0 { return .bytes((0..<16).map { UInt8(truncatingIfNeeded: raw >> UInt128(8 * $0)) }) }
        if !field.choices.isEmpty {
            return .choice(UInt64(truncatingIfNeeded: raw), name: field.choices[UInt64(truncatingIfNeeded: raw)])
        }
        return field.scale.isOne ? .integer(value) : .number(field.scale.apply(to: value))
    }

    /// Returns the number in little-endian bytes.
    private static func unsigned(_ bytes: ArraySlice<UInt8>) -> UInt128 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }

    // --- text ---

    /// Decodes text without trailing zero bytes, with which some devices pad it.
    private func text(_ field: ValueFormat.Field, _ bytes: ArraySlice<UInt8>) throws(BLEError) -> String {
        let end = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? bytes.startIndex
        guard let text = String(validating: bytes[..<end], as: UTF8.self) else { throw error(field, "is not UTF-8") }
        return text
    }

    private func text16(_ field: ValueFormat.Field, _ bytes: ArraySlice<UInt8>) throws(BLEError) -> String {
        let units = stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
            UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8
        }
        let end = units.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        guard bytes.count.isMultiple(of: 2), let text = String(validating: units[..<end], as: UTF16.self) else {
            throw error(field, "is not UTF-16")
        }
        return text
    }

    // --- bytes ---

    private mutating func take(_ count: Int, _ field: ValueFormat.Field) throws(BLEError) -> ArraySlice<UInt8> {
        if bit > 0 { (position, bit) = (position + 1, 0) }
        guard count <= remaining else {
            throw error(field, "is truncated: \(count) bytes expected, \(remaining) remain")
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    private mutating func takeBits(_ count: Int, _ field: ValueFormat.Field) throws(BLEError) -> UInt64 {
        let end = bit + count
        guard end <= 8 * (bytes.endIndex - position) else { throw error(field, "is missing") }
        let shared = Self.unsigned(bytes[position..<position + (end + 7) / 8])
        let raw = UInt64(truncatingIfNeeded: shared >> UInt128(bit)) & (1 << UInt64(count) - 1)
        (position, bit) = (position + end / 8, end % 8)
        return raw
    }

    private func error(_ field: ValueFormat.Field, _ text: String) -> BLEError {
        BLEError(
            .invalidValue, "\(field.name.isEmpty ? "the value" : field.name) \(text) (0x\(Hex.string(Array(bytes))))")
    }
}

extension ValueFormat.Field {
    /// Returns the texts for the bits that are set.
    fileprivate func names(_ flags: UInt64, without silent: Set<Int> = []) -> [String] {
        bits.filter { $0.range.count > 1 || !silent.contains($0.range.lowerBound) }.compactMap { $0.text(flags) }
    }
}

extension ValueFormat.Bits {
    /// Returns the text for these bits: the name of a single bit if it is set, or the name and number of several bits.
    fileprivate func text(_ flags: UInt64) -> String? {
        let value = flags >> UInt64(range.lowerBound) & (1 << UInt64(range.count) - 1)
        guard range.count > 1 else { return value == 1 ? name : nil }
        return "\(name): \(choices[value] ?? "\(value)")"
    }
}
