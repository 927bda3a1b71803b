/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text, and company identifiers
/// are four hexadecimal digits. The key of the advertising interval is `advertisingIntervalMilliseconds`. Unknown and
/// empty properties are omitted.
extension Advertisement: Codable {
    private enum CodingKeys: CodingKey {
        case localName, rssi, txPower, serviceUUIDs, manufacturerData, serviceData, appearance, deviceClass, addressType
        case isConnectable, flags, solicitedServiceUUIDs, advertisingIntervalMilliseconds, structures
    }

    /// Reads an advertisement.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func value<Value: Decodable>(_ key: CodingKeys) throws -> Value? {
            try container.decodeIfPresent(Value.self, forKey: key)
        }
        var manufacturerData: [UInt16: [UInt8]] = [:]
        let companies: [String: HexBytes] = try value(.manufacturerData) ?? [:]
        for (text, data) in companies {
            guard let company = Hex.bytes(text), company.count == 2 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .manufacturerData, in: container,
                    debugDescription: "“\(text)” is not a company identifier of four hexadecimal digits")
            }
            manufacturerData[UInt16(company[0]) << 8 | UInt16(company[1])] = data.bytes
        }
        let serviceData: [BluetoothUUID: HexBytes] = try value(.serviceData) ?? [:]
        let interval: Double? = try value(.advertisingIntervalMilliseconds)
        if let interval, !(0...1_000_000_000).contains(interval) {
            throw DecodingError.dataCorruptedError(
                forKey: .advertisingIntervalMilliseconds, in: container,
                debugDescription: "\(interval) ms is out of range")
        }
        self.init(
            localName: try value(.localName), rssi: try value(.rssi), txPower: try value(.txPower),
            serviceUUIDs: try value(.serviceUUIDs) ?? [], manufacturerData: manufacturerData,
            serviceData: serviceData.mapValues(\.bytes), appearance: try value(.appearance),
            deviceClass: try value(.deviceClass), addressType: try value(.addressType),
            isConnectable: try value(.isConnectable), flags: try value(.flags),
            solicitedServiceUUIDs: try value(.solicitedServiceUUIDs) ?? [],
            advertisingInterval: interval.map { .microseconds(Int64(($0 * 1000).rounded())) },
            structures: try value(.structures) ?? [])
    }

    /// Writes the advertisement.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(localName, forKey: .localName)
        try container.encodeIfPresent(rssi, forKey: .rssi)
        try container.encodeIfPresent(txPower, forKey: .txPower)
        if !serviceUUIDs.isEmpty { try container.encode(serviceUUIDs.sorted(), forKey: .serviceUUIDs) }
        if !manufacturerData.isEmpty {
            let companies = manufacturerData.map { company, data in
                (Hex.string([UInt8(company >> 8), UInt8(company & 0xFF)]), HexBytes(data))
            }
            try container.encode(Dictionary(uniqueKeysWithValues: companies), forKey: .manufacturerData)
        }
        if !serviceData.isEmpty { try container.encode(serviceData.mapValues(HexBytes.init), forKey: .serviceData) }
        try container.encodeIfPresent(appearance, forKey: .appearance)
        try container.encodeIfPresent(deviceClass, forKey: .deviceClass)
        try container.encodeIfPresent(addressType, forKey: .addressType)
        try container.encodeIfPresent(isConnectable, forKey: .isConnectable)
        try container.encodeIfPresent(flags, forKey: .flags)
        if !solicitedServiceUUIDs.isEmpty {
            try container.encode(solicitedServiceUUIDs.sorted(), forKey: .solicitedServiceUUIDs)
        }
        if let advertisingInterval {
            let limited = min(max(advertisingInterval, .zero), .seconds(1_000_000))
            let (seconds, attoseconds) = limited.components
            let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
            try container.encode(Double(microseconds) / 1000, forKey: .advertisingIntervalMilliseconds)
        }
        if !structures.isEmpty { try container.encode(structures, forKey: .structures) }
    }
}

/// Stored and sent as an object with the number `type` and the hexadecimal text `bytes`.
extension AdvertisingStructure: Codable {
    private enum CodingKeys: CodingKey {
        case type
        case bytes
    }

    /// Reads a structure.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            type: try container.decode(UInt8.self, forKey: .type),
            bytes: try container.decode(HexBytes.self, forKey: .bytes).bytes)
    }

    /// Writes the structure.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(type, forKey: .type)
        try container.encode(HexBytes(bytes), forKey: .bytes)
    }
}
