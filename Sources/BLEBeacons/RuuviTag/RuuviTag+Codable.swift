internal import BLE

/// Stored and sent as an object with the names of the properties. The address is text such as `F0:F1:F2:F3:F4:F5`.
extension RuuviTag {
    private enum CodingKeys: CodingKey {
        case format, temperatureCelsius, humidityPercent, pressurePascals, accelerationMilligravities,
            batteryMillivolts, txPower, movementCount, sequenceNumber, address
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        format = try container.decode(DataFormat.self, forKey: .format)
        temperatureCelsius = try container.decodeIfPresent(Double.self, forKey: .temperatureCelsius)
        humidityPercent = try container.decodeIfPresent(Double.self, forKey: .humidityPercent)
        pressurePascals = try container.decodeIfPresent(Int.self, forKey: .pressurePascals)
        accelerationMilligravities = try container.decode(Acceleration.self, forKey: .accelerationMilligravities)
        batteryMillivolts = try container.decodeIfPresent(Int.self, forKey: .batteryMillivolts)
        txPower = try container.decodeIfPresent(Int.self, forKey: .txPower)
        movementCount = try container.decodeIfPresent(Int.self, forKey: .movementCount)
        sequenceNumber = try container.decodeIfPresent(Int.self, forKey: .sequenceNumber)
        address = try container.decodeAddressIfPresent(forKey: .address)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(format, forKey: .format)
        try container.encodeIfPresent(temperatureCelsius, forKey: .temperatureCelsius)
        try container.encodeIfPresent(humidityPercent, forKey: .humidityPercent)
        try container.encodeIfPresent(pressurePascals, forKey: .pressurePascals)
        try container.encode(accelerationMilligravities, forKey: .accelerationMilligravities)
        try container.encodeIfPresent(batteryMillivolts, forKey: .batteryMillivolts)
        try container.encodeIfPresent(txPower, forKey: .txPower)
        try container.encodeIfPresent(movementCount, forKey: .movementCount)
        try container.encodeIfPresent(sequenceNumber, forKey: .sequenceNumber)
        try container.encodeAddress(address, forKey: .address)
    }
}
