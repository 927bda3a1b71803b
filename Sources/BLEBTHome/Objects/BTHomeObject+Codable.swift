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

/// Stored and sent as an object with the `kind` and the `content`, for reading it again, and for others the `name`, the
/// `value` and the `unit`, as far as it has them. Reading throws `DecodingError` for a content that the
/// kind does not allow.
extension BTHomeObject: Codable {
    private enum CodingKeys: CodingKey {
        case kind
        case content
        case name
        case value
        case unit
    }

    /// Reads an object.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        do {
            try self.init(
                container.decode(BTHomeKind.self, forKey: .kind), container.decode(Content.self, forKey: .content))
        } catch let error as AdvertisementFormatError {
            throw DecodingError.dataCorruptedError(forKey: .content, in: container, debugDescription: "\(error)")
        }
    }

    /// Writes the object.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
        try container.encode(content, forKey: .content)
        try container.encode(kind.name, forKey: .name)
        try container.encodeIfPresent(value, forKey: .value)
        if !kind.unit.isEmpty { try container.encode(kind.unit, forKey: .unit) }
    }
}

/// Sent as an object with the `objects`, the `rest` of unknown ones, or `isEncrypted`.
extension BTHome: Encodable {
    private enum CodingKeys: CodingKey {
        case isTriggerBased, address, objects, rest, isEncrypted
    }

    /// Writes the report. Bytes are hexadecimal text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isTriggerBased, forKey: .isTriggerBased)
        try container.encodeIfPresent(address.map { Hex.string($0) }, forKey: .address)
        switch payload {
        case .plain(let objects, let rest):
            try container.encode(objects, forKey: .objects)
            if !rest.isEmpty { try container.encode(Hex.string(rest), forKey: .rest) }
        case .encrypted: try container.encode(true, forKey: .isEncrypted)
        }
    }
}
