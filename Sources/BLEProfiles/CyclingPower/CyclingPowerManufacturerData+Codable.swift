internal import BLE

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension CyclingPowerManufacturerData {
    private enum CodingKeys: CodingKey {
        case company, data
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        company = try container.decode(UInt16.self, forKey: .company)
        data = try container.decodeHex(forKey: .data)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(company, forKey: .company)
        try container.encodeHex(data, forKey: .data)
    }
}
