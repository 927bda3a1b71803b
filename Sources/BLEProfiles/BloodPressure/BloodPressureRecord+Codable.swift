internal import BLE

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension BloodPressureRecord {
    private enum CodingKeys: CodingKey {
        case sequenceNumber, characteristic, value, checksum
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sequenceNumber = try container.decode(UInt16.self, forKey: .sequenceNumber)
        characteristic = try container.decode(BluetoothUUID.self, forKey: .characteristic)
        value = try container.decodeHex(forKey: .value)
        checksum = try container.decodeIfPresent(UInt16.self, forKey: .checksum)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(sequenceNumber, forKey: .sequenceNumber)
        try container.encode(characteristic, forKey: .characteristic)
        try container.encodeHex(value, forKey: .value)
        try container.encodeIfPresent(checksum, forKey: .checksum)
    }
}

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension BloodPressureRecordSegment {
    private enum CodingKeys: CodingKey {
        case isFirst, isLast, counter, sequenceNumber, characteristic, bytes
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        isFirst = try container.decode(Bool.self, forKey: .isFirst)
        isLast = try container.decode(Bool.self, forKey: .isLast)
        counter = try container.decode(UInt8.self, forKey: .counter)
        sequenceNumber = try container.decode(UInt16.self, forKey: .sequenceNumber)
        characteristic = try container.decode(BluetoothUUID.self, forKey: .characteristic)
        bytes = try container.decodeHex(forKey: .bytes)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(isFirst, forKey: .isFirst)
        try container.encode(isLast, forKey: .isLast)
        try container.encode(counter, forKey: .counter)
        try container.encode(sequenceNumber, forKey: .sequenceNumber)
        try container.encode(characteristic, forKey: .characteristic)
        try container.encodeHex(bytes, forKey: .bytes)
    }
}
