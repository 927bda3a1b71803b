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

/// Stored and sent as an object with the `kind` and the `content`. Reading throws `DecodingError` for a content that the
/// kind does not allow.
extension BTHomeObject: Codable {
    private enum CodingKeys: CodingKey {
        case kind
        case content
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
    }
}
