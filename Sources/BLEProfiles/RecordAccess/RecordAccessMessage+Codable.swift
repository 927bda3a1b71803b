internal import BLE

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension RecordSelection {
    private enum CodingKeys: CodingKey {
        case `operator`, operand
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        `operator` = try container.decode(RecordAccessMessage.Operator.self, forKey: .operator)
        operand = try container.decodeHex(forKey: .operand)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(`operator`, forKey: .operator)
        try container.encodeHex(operand, forKey: .operand)
    }
}

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension RecordAccessMessage {
    private enum CodingKeys: CodingKey {
        case opcode, `operator`, operand
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        opcode = try container.decode(Opcode.self, forKey: .opcode)
        `operator` = try container.decode(Operator.self, forKey: .operator)
        operand = try container.decodeHex(forKey: .operand)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(opcode, forKey: .opcode)
        try container.encode(`operator`, forKey: .operator)
        try container.encodeHex(operand, forKey: .operand)
    }
}
