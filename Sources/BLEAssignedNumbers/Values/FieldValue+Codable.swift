internal import BLE

/// Stored and sent as an object with the same keys for all fields, and null for missing values: the `name`; the `kind`
/// of content; the `value`; `raw`, the number of an integer, a choice or flags; the symbol of the `unit`, and its UUID,
/// `unitUUID`; and the `text` with the unit.
///
/// The value is a number, text, an array of the names of flags, or an array of fields. Bytes are hexadecimal text. An
/// integer beyond 2⁵³ is the text of its digits in `raw`. A special value is null, with its name in `text`.
extension FieldValue {
    private enum CodingKeys: CodingKey {
        case name, kind, value, raw, unit, unitUUID, text
    }

    private enum Kind: String, Codable {
        case integer, number, text, flags, choice, uuid, special, bytes, fields
    }

    /// Reads a field.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            try container.decode(type, forKey: .value)
        }
        func raw<Number: FixedWidthInteger & Decodable>(_ type: Number.Type = Number.self) throws -> Number {
            if let text = try? container.decode(String.self, forKey: .raw) {
                guard let number = Number(text) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .raw, in: container, debugDescription: "“\(text)” is not a number")
                }
                return number
            }
            return Number(try container.decode(Int64.self, forKey: .raw))
        }
        let text = try container.decode(String.self, forKey: .text)
        let content: Content =
            switch try container.decode(Kind.self, forKey: .kind) {
            case .integer: .integer(try raw())
            case .number:
                .number(
                    try container.decodeIfPresent(Double.self, forKey: .value)
                        ?? (text.hasPrefix("-") ? -.infinity : text.hasPrefix("infinity") ? .infinity : .nan))
            case .text: .text(try value())
            case .flags: .flags(try raw(), names: try value())
            case .choice: .choice(try raw(), name: try container.decodeIfPresent(String.self, forKey: .value))
            case .uuid: .uuid(try value())
            case .special: .special(text)
            case .bytes: .bytes(try container.decodeHex(forKey: .value))
            case .fields: .fields(try value())
            }
        self.init(
            name: try container.decode(String.self, forKey: .name), content: content,
            unit: try container.decodeIfPresent(BluetoothUUID.self, forKey: .unitUUID),
            unitSymbol: try container.decodeIfPresent(String.self, forKey: .unit))
    }

    /// Writes the field.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(unitSymbol, forKey: .unit)
        try container.encode(unit, forKey: .unitUUID)
        try container.encode(description, forKey: .text)
        func put(_ kind: Kind, raw: Int128? = nil) throws {
            try container.encode(kind, forKey: .kind)
            // Many readers of JSON do not support larger integers.
            if let raw, raw.magnitude > 1 << 53 {
                try container.encode("\(raw)", forKey: .raw)
            } else {
                try container.encode(raw.map { Int64($0) }, forKey: .raw)
            }
        }
        switch content {
        case .integer(let integer):
            try put(.integer, raw: integer)
            if let exact = Int64(exactly: integer) {
                try container.encode(exact, forKey: .value)
            } else {
                try container.encode(Double(integer), forKey: .value)
            }
        case .number(let number):
            try put(.number)
            try container.encode(number.isFinite ? number : nil, forKey: .value)
        case .text(let text):
            try put(.text)
            try container.encode(text, forKey: .value)
        case .flags(let bits, let names):
            try put(.flags, raw: Int128(bits))
            try container.encode(names, forKey: .value)
        case .choice(let number, let name):
            try put(.choice, raw: Int128(number))
            try container.encode(name, forKey: .value)
        case .uuid(let uuid):
            try put(.uuid)
            try container.encode(uuid, forKey: .value)
        case .special:
            try put(.special)
            try container.encodeNil(forKey: .value)
        case .bytes(let bytes):
            try put(.bytes)
            try container.encodeHex(bytes, forKey: .value)
        case .fields(let fields):
            try put(.fields)
            try container.encode(fields, forKey: .value)
        }
    }
}
