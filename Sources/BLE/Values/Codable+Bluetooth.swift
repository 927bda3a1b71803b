/// Stored and sent as text: ``description``. Any form of a UUID can be read. A UUID is a key of an object in JSON.
extension BluetoothUUID: Codable, CodingKeyRepresentable {
    /// Reads a UUID from text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let uuid = BluetoothUUID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is not a Bluetooth UUID")
        }
        self = uuid
    }

    /// Writes the UUID as text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    /// The UUID as a key.
    public var codingKey: any CodingKey { TextKey(description) }

    /// Creates a UUID from a key. Nil for any other text.
    public init?<Key: CodingKey>(codingKey: Key) { self.init(codingKey.stringValue) }
}

/// Stored and sent as an object with the number, `value`, and all digits that the device sent, `bits`. Special values
/// have no `value`. Without `bits`, the number nearest to `value` is read.
extension MedFloat: Codable where Bits: Codable {
    private enum CodingKeys: CodingKey {
        case value
        case bits
    }

    /// Reads a number.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let bits = try container.decodeIfPresent(Bits.self, forKey: .bits) {
            self.init(rawValue: bits)
        } else {
            self.init(try container.decode(Double.self, forKey: .value))
        }
    }

    /// Writes the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if decimal != nil { try container.encode(doubleValue, forKey: .value) }
        try container.encode(rawValue, forKey: .bits)
    }
}

/// Stored and sent as its name, such as `uint16`.
extension IntegerFormat: Codable {
    private static let names: [(name: String, format: IntegerFormat)] = [
        ("uint8", .uint8), ("uint16", .uint16), ("uint24", .uint24), ("uint32", .uint32), ("uint40", .uint40),
        ("uint48", .uint48), ("int8", .int8), ("int16", .int16), ("int24", .int24), ("int32", .int32),
        ("int48", .int48), ("int64", .int64),
    ]

    /// Reads a format.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let name = try container.decode(String.self)
        guard let found = Self.names.first(where: { $0.name == name }) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "“\(name)” is not an integer format")
        }
        self = found.format
    }

    /// Writes the name.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.names.first { $0.format == self }?.name ?? "")
    }
}

/// A key of any text.
struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

/// Bytes that are stored as hexadecimal text.
struct HexBytes: Codable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let bytes = Hex.bytes(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is not hexadecimal")
        }
        self.bytes = bytes
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Hex.string(bytes))
    }
}

extension KeyedEncodingContainer {
    /// Writes bytes as hexadecimal text.
    package mutating func encodeHex(_ bytes: [UInt8], forKey key: Key) throws {
        try encode(HexBytes(bytes), forKey: key)
    }

    /// Writes the bytes of an address, most significant first, as text such as `F0:F1:F2:F3:F4:F5`.
    package mutating func encodeAddress(_ bytes: [UInt8]?, forKey key: Key) throws {
        try encodeIfPresent(bytes?.map { Hex.string([$0]).uppercased() }.joined(separator: ":"), forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Reads bytes from hexadecimal text.
    package func decodeHex(forKey key: Key) throws -> [UInt8] { try decode(HexBytes.self, forKey: key).bytes }

    /// Reads the bytes of an address, most significant first.
    package func decodeAddressIfPresent(forKey key: Key) throws -> [UInt8]? {
        guard let text = try decodeIfPresent(String.self, forKey: key) else { return nil }
        guard Peripheral.ID(rawValue: text).isAddress,
            let bytes = Hex.bytes(text.filter { $0 != ":" && $0 != "-" })
        else {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: self, debugDescription: "“\(text)” is not a device address")
        }
        return bytes
    }
}
