internal import BLE

/// Stored and sent as an object with the ``kind`` and the `value`: a number, text, or bytes as hexadecimal text.
extension ValueGuess {
    private enum CodingKeys: CodingKey {
        case kind, value
    }

    /// Reads a guess.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .kind) {
        case "undefined": self = .undefined
        case "int": self = .int(try container.decode(Int32.self, forKey: .value))
        case "float": self = .float(try container.decode(Double.self, forKey: .value))
        case "string": self = .string(try container.decode(String.self, forKey: .value))
        case "raw": self = .raw(try container.decodeHex(forKey: .value))
        case let kind:
            throw DecodingError.dataCorruptedError(
                forKey: .kind, in: container, debugDescription: "“\(kind)” is not a kind of guess")
        }
    }

    /// Writes the guess.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        switch self {
        case .undefined: break
        case .int(let value): try container.encode(value, forKey: .value)
        case .float(let value): try container.encode(value, forKey: .value)
        case .string(let text): try container.encode(text, forKey: .value)
        case .raw(let bytes): try container.encodeHex(bytes, forKey: .value)
        }
    }
}
