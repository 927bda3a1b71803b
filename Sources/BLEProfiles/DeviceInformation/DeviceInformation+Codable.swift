internal import BLE

/// Stored and sent as an object with the names of the properties. Bytes are hexadecimal text.
extension DeviceInformation {
    private enum CodingKeys: CodingKey {
        case manufacturerName, modelNumber, serialNumber, hardwareRevision, firmwareRevision, softwareRevision,
            systemID, regulatoryCertifications, pnpID, udi
    }

    /// Reads the value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        manufacturerName = try container.decodeIfPresent(String.self, forKey: .manufacturerName)
        modelNumber = try container.decodeIfPresent(String.self, forKey: .modelNumber)
        serialNumber = try container.decodeIfPresent(String.self, forKey: .serialNumber)
        hardwareRevision = try container.decodeIfPresent(String.self, forKey: .hardwareRevision)
        firmwareRevision = try container.decodeIfPresent(String.self, forKey: .firmwareRevision)
        softwareRevision = try container.decodeIfPresent(String.self, forKey: .softwareRevision)
        systemID = try container.decodeIfPresent(SystemID.self, forKey: .systemID)
        regulatoryCertifications =
            container.contains(.regulatoryCertifications)
            ? try container.decodeHex(forKey: .regulatoryCertifications) : nil
        pnpID = try container.decodeIfPresent(PnPID.self, forKey: .pnpID)
        udi = try container.decodeIfPresent(UniqueDeviceIdentifier.self, forKey: .udi)
    }

    /// Writes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(manufacturerName, forKey: .manufacturerName)
        try container.encodeIfPresent(modelNumber, forKey: .modelNumber)
        try container.encodeIfPresent(serialNumber, forKey: .serialNumber)
        try container.encodeIfPresent(hardwareRevision, forKey: .hardwareRevision)
        try container.encodeIfPresent(firmwareRevision, forKey: .firmwareRevision)
        try container.encodeIfPresent(softwareRevision, forKey: .softwareRevision)
        try container.encodeIfPresent(systemID, forKey: .systemID)
        if let regulatoryCertifications {
            try container.encodeHex(regulatoryCertifications, forKey: .regulatoryCertifications)
        }
        try container.encodeIfPresent(pnpID, forKey: .pnpID)
        try container.encodeIfPresent(udi, forKey: .udi)
    }
}
