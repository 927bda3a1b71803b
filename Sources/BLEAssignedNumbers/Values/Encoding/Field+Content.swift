internal import BLE

extension ValueFormat.Field {
    /// Encodes what is given for the field.
    func encode(_ input: EncodedItem.Input) throws(BLEError) -> EncodedField {
        switch input {
        case .content(let content): try encode(content)
        case .text(let text): try encode(text: text[...])
        case .items(let items):
            if let inner {
                .bytes(try StructureEncoder(inner).encode(items))
            } else {
                throw error("is not a structure")
            }
        }
    }

    private func encode(_ content: FieldValue.Content) throws(BLEError) -> EncodedField {
        switch (content, kind) {
        case (.integer(let integer), _) where isNumber:
            return try number(DecimalNumber(isNegative: integer < 0, digits: integer.magnitude))
        case (.number(let value), _) where isNumber:
            guard let number = DecimalNumber(value) else {
                throw error("is \(value.shortText), which is a special value")
            }
            if case .float(let count) = kind { return try float(Float(value), value, bytes: count, number) }
            return try self.number(number, nearTo: value)
        case (.special(let name), _):
            guard let bits = special(named: name[...]) else { throw error("has no special value “\(name.prefix(64))”") }
            return .bits(bits)
        case (.choice(let number, _), _) where isNumber || kind == .appearance || kind == .boolean:
            return try choice(UInt128(number))
        case (.flags(let flags, _), .flags(let count)): return try self.flags(flags, bytes: count)
        case (.text(let text), _): return .bytes(try bytes(of: text))
        case (.uuid(let uuid), .uuid(let count)): return .bytes(try bytes(of: uuid, count))
        case (.bytes(let bytes), .bytes(let count)): return .bytes(try self.bytes(bytes, count))
        // A number of 128 bits that is not an Int128 is decoded as bytes.
        case (.bytes(let bytes), .integer(16, _, false)):
            guard bytes.count == 16 else { throw error("has \(bytes.count) bytes, not 16") }
            return .bits(bytes.reversed().reduce(0) { $0 << 8 | UInt128($1) })
        default: throw error("cannot be \(content.kindName)")
        }
    }

    /// Whether the field is a number or has choices, which are numbers.
    var isNumber: Bool {
        switch kind {
        case .integer, .bits, .medFloat, .float, .timeExponential: true
        default: false
        }
    }

    // MARK: Parts

    /// Returns the number of a choice.
    func choice(_ number: UInt128) throws(BLEError) -> EncodedField {
        switch kind {
        case .boolean where number < 2, .appearance where number < 65_536: return .bits(number)
        case .integer, .bits: return try self.number(DecimalNumber(digits: number))
        default: throw error("is \(number), which is too large")
        }
    }

    /// Returns flags, all of which are fixed.
    func flags(_ flags: UInt64, bytes count: Int?) throws(BLEError) -> EncodedField {
        let count = count ?? 2
        guard count > 7 || flags >> UInt64(8 * count) == 0 else {
            throw error("is 0x\(String(flags, radix: 16)), which has more than \(8 * count) bits")
        }
        return .flags(flags, fixed: .max)
    }

    func bytes(_ bytes: [UInt8], _ count: Int?) throws(BLEError) -> [UInt8] {
        if let count, bytes.count != count { throw error("has \(bytes.count) bytes, not \(count)") }
        return bytes
    }

    func bytes(of uuid: BluetoothUUID, _ count: Int?) throws(BLEError) -> [UInt8] {
        if let short = uuid.short { return [UInt8(short & 0xFF), UInt8(short >> 8)] }
        guard count == nil else { throw error("is \(uuid), which has more than 16 bits") }
        return Hex.bytes(uuid.fullDescription)?.reversed() ?? []
    }

    /// Returns the bytes of a text, padded with zeros if the field has a fixed length.
    func bytes(of text: String) throws(BLEError) -> [UInt8] {
        let bytes = Array(text.utf8)
        switch kind {
        case .text(let count):
            guard bytes.last != 0 else { throw error("ends with a zero byte") }
            guard let count else { return bytes }
            guard bytes.count <= count else {
                throw error("has \(bytes.count) bytes in UTF-8, more than \(count)")
            }
            return bytes + [UInt8](repeating: 0, count: count - bytes.count)
        case .terminatedText:
            guard !bytes.contains(0) else { throw error("contains a zero byte") }
            return bytes + [0]
        case .text16:
            guard bytes.last != 0 else { throw error("ends with a zero byte") }
            return text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        default: throw error("cannot be text")
        }
    }
}

extension FieldValue.Content {
    /// The kind of content for messages.
    fileprivate var kindName: String {
        switch self {
        case .integer, .number: "a number"
        case .text: "text"
        case .flags: "flags"
        case .choice: "a choice"
        case .uuid: "a UUID"
        case .special: "a special value"
        case .bytes: "bytes"
        case .fields: "a structure"
        }
    }
}
