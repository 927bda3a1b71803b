internal import BLE

/// Stored and sent as its ``id``. Reading throws `DecodingError` for an unknown id.
extension BTHomeKind: Codable {
    /// Reads a kind.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let id = try container.decode(UInt8.self)
        guard let kind = BTHomeKind(id: id) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no BTHome object has the id \(id)")
        }
        self = kind
    }

    /// Writes the id.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}

/// Stored and sent as an object with the id of the `kind`, the `value`, and, for people, the `name` and the `unit`, if
/// there is one. Reading throws `DecodingError` for a value that the kind does not allow.
///
/// The value is a number in the unit, a flag, the number of a button's event, text, bytes as hexadecimal text, the
/// numbers of a version separated by dots, or an object: `event` and `steps` of a dimmer, `command` and `arguments` of
/// a command.
extension BTHomeObject: Codable {
    private enum CodingKeys: CodingKey {
        case kind, name, value, unit
    }

    private enum ValueKeys: CodingKey {
        case event, steps, command, arguments
    }

    /// Reads an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let kind = try container.decode(BTHomeKind.self, forKey: .kind)
        func value<Value: Decodable>() throws -> Value { try container.decode(Value.self, forKey: .value) }
        func parts() throws -> KeyedDecodingContainer<ValueKeys> {
            try container.nestedContainer(keyedBy: ValueKeys.self, forKey: .value)
        }
        do {
            let content: Content
            switch kind.coding {
            case .unsigned, .signed:
                self = try BTHomeObject(kind, value: try value())
                return
            case .flag: content = .flag(try value())
            case .button: content = .button(try value())
            case .dimmer:
                let parts = try parts()
                content = .dimmer(
                    try parts.decode(BTHomeDimmer.self, forKey: .event),
                    steps: try parts.decode(UInt8.self, forKey: .steps))
            case .command:
                let parts = try parts()
                content = .command(
                    try parts.decode(BTHomeCommand.self, forKey: .command),
                    arguments: try parts.decodeHex(forKey: .arguments))
            case .text: content = .text(try value())
            case .raw: content = .raw(try container.decodeHex(forKey: .value))
            case .version:
                let text: String = try value()
                let numbers = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
                guard !numbers.contains(nil) else {
                    throw DecodingError.dataCorruptedError(
                        forKey: .value, in: container, debugDescription: "“\(text)” is not a version")
                }
                content = .version(numbers.compactMap(\.self))
            }
            try self.init(kind, content)
        } catch let error as AdvertisementFormatError {
            throw DecodingError.dataCorruptedError(forKey: .value, in: container, debugDescription: "\(error)")
        }
    }

    /// Writes the object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(kind.name, forKey: .name)
        if !kind.unit.isEmpty { try container.encode(kind.unit, forKey: .unit) }
        switch content {
        case .number: try container.encode(value, forKey: .value)
        case .flag(let flag): try container.encode(flag, forKey: .value)
        case .button(let event): try container.encode(event, forKey: .value)
        case .dimmer(let event, let steps):
            var parts = container.nestedContainer(keyedBy: ValueKeys.self, forKey: .value)
            try parts.encode(event, forKey: .event)
            try parts.encode(steps, forKey: .steps)
        case .command(let command, let arguments):
            var parts = container.nestedContainer(keyedBy: ValueKeys.self, forKey: .value)
            try parts.encode(command, forKey: .command)
            try parts.encodeHex(arguments, forKey: .arguments)
        case .text(let text): try container.encode(text, forKey: .value)
        case .raw(let bytes): try container.encodeHex(bytes, forKey: .value)
        case .version(let numbers):
            try container.encode(numbers.map { "\($0)" }.joined(separator: "."), forKey: .value)
        }
    }
}

/// Sent as an object with the `objects`, the `rest` with unknown objects, or `isEncrypted`.
extension BTHome: Encodable {
    private enum CodingKeys: CodingKey {
        case isTriggerBased, address, objects, rest, isEncrypted
    }

    /// Writes the report. Bytes are hexadecimal text, and the address is text such as `F0:F1:F2:F3:F4:F5`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isTriggerBased, forKey: .isTriggerBased)
        try container.encodeAddress(address, forKey: .address)
        switch payload {
        case .plain(let objects, let rest):
            try container.encode(objects, forKey: .objects)
            if !rest.isEmpty { try container.encode(Hex.string(rest), forKey: .rest) }
        case .encrypted: try container.encode(true, forKey: .isEncrypted)
        }
    }
}
