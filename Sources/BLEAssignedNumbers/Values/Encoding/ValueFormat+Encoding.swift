public import BLE

extension ValueFormat {
    /// Encodes the fields of a value: the inverse of ``decode(_:)``.
    ///
    /// The fields may be in any order. Each has its name, as published by the SIG or as ``FieldValue/shortName``, and
    /// its content: of choices and flags the numbers count, of special values the names. A number is encoded exactly,
    /// apart from the rounding errors of a `Double`.
    ///
    /// Flags and selectors that announce other fields may be omitted: they are derived from the fields that are given.
    /// The same is true for the size of a record.
    ///
    /// Throws `invalidValue`, with the name of the field, if a field is missing or unknown, if a number is out of range
    /// or between two steps, or if the value would have more than 512 bytes.
    public func encode(_ values: [FieldValue]) throws(BLEError) -> [UInt8] {
        try checked { () throws(BLEError) in
            guard isRecord else { return try StructureEncoder(fields).encode(values.map(EncodedItem.init)) }
            var bytes: [UInt8] = []
            for value in values {
                guard case .fields(let inner) = value.content else {
                    throw BLEError(.invalidValue, "the value has records, which are structures")
                }
                bytes += try record(inner.map(EncodedItem.init))
            }
            return bytes
        }
    }

    /// Encodes a value in the text form of its fields.
    ///
    /// If there is one field, the text is that of the field. Otherwise, it has pairs of a field's name and text,
    /// separated by commas or semicolons: `minimum-temperature=20.5 °C, maximum-temperature=22`. Comparing names
    /// ignores case and all characters except letters and digits. A value with records has one record.
    ///
    /// | field | text |
    /// |---|---|
    /// | a number | `21.5`, `21.5 °C`: with the field's own unit, or without a unit |
    /// | a choice | its name or its number; for true and false also `on` and `off`, `yes` and `no` |
    /// | flags | names, separated by `+` or commas; `none`; or the number of all bits |
    /// | a date and time | `2026-03-01T12:00:00`, with question marks for unknown parts; `not known` |
    /// | text | the text, without quotation marks |
    /// | a UUID | the UUID, or its name |
    /// | bytes | hexadecimal digits |
    /// | a special value | its name, such as `value is not known`, or `unknown` |
    ///
    /// Throws as ``encode(_:)``, and for text that is not understood or longer than 16 KiB.
    public func encode(text: String) throws(BLEError) -> [UInt8] {
        guard text.utf8.count <= 16_384 else {
            throw BLEError(.invalidValue, "the text has \(text.utf8.count) bytes, more than 16384")
        }
        return try checked { () throws(BLEError) in
            let items = try ValueText(text).items(of: self)
            return try isRecord ? record(items) : StructureEncoder(fields).encode(items)
        }
    }

    /// Encodes a record, which begins with its size.
    private func record(_ items: [EncodedItem]) throws(BLEError) -> [UInt8] {
        let size = EncodedItem(name: fields[0].name, input: .content(.integer(0)))
        let given = items.first { $0.isNamed(like: fields[0]) }
        let others = items.filter { !$0.isNamed(like: fields[0]) }
        var bytes = try StructureEncoder(fields).encode([size] + others)
        guard let count = UInt8(exactly: bytes.count) else {
            throw BLEError(.invalidValue, "the record has \(bytes.count) bytes, more than 255")
        }
        bytes[0] = count
        if let given, case .bits(let bits) = try fields[0].encode(given.input), bits != UInt128(count) {
            throw BLEError(.invalidValue, "\(fields[0].shortName) is \(bits), but the record has \(count) bytes")
        }
        return bytes
    }

    private func checked(_ encode: () throws(BLEError) -> [UInt8]) throws(BLEError) -> [UInt8] {
        let bytes = try encode()
        guard bytes.count <= 512 else {
            throw BLEError(.invalidValue, "the value has \(bytes.count) bytes, more than 512")
        }
        return bytes
    }
}
