internal import BLE

/// Stored and sent as an object with the name of the `frame`, and its contents. Bytes are hexadecimal text.
extension Eddystone {
    private enum CodingKeys: CodingKey {
        case frame, namespace, instance, url, telemetry, ciphertext, salt, integrityCheck, ephemeralID, txPower
    }

    private enum Frame: String, Codable {
        case uid, url, telemetry, encryptedTelemetry, ephemeralID
    }

    /// Reads a frame.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func txPower() throws -> Int { try container.decode(Int.self, forKey: .txPower) }
        self =
            switch try container.decode(Frame.self, forKey: .frame) {
            case .uid:
                .uid(
                    namespace: try container.decodeHex(forKey: .namespace),
                    instance: try container.decodeHex(forKey: .instance), txPower: try txPower())
            case .url: .url(try container.decode(String.self, forKey: .url), txPower: try txPower())
            case .telemetry: .telemetry(try container.decode(EddystoneTelemetry.self, forKey: .telemetry))
            case .encryptedTelemetry:
                .encryptedTelemetry(
                    ciphertext: try container.decodeHex(forKey: .ciphertext),
                    salt: try container.decode(UInt16.self, forKey: .salt),
                    integrityCheck: try container.decode(UInt16.self, forKey: .integrityCheck))
            case .ephemeralID:
                .ephemeralID(try container.decodeHex(forKey: .ephemeralID), txPower: try txPower())
            }
    }

    /// Writes the frame.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        func begin(_ frame: Frame, txPower: Int? = nil) throws {
            try container.encode(frame, forKey: .frame)
            try container.encodeIfPresent(txPower, forKey: .txPower)
        }
        switch self {
        case .uid(let namespace, let instance, let power):
            try begin(.uid, txPower: power)
            try container.encodeHex(namespace, forKey: .namespace)
            try container.encodeHex(instance, forKey: .instance)
        case .url(let url, let power):
            try begin(.url, txPower: power)
            try container.encode(url, forKey: .url)
        case .telemetry(let telemetry):
            try begin(.telemetry)
            try container.encode(telemetry, forKey: .telemetry)
        case .encryptedTelemetry(let ciphertext, let salt, let integrityCheck):
            try begin(.encryptedTelemetry)
            try container.encodeHex(ciphertext, forKey: .ciphertext)
            try container.encode(salt, forKey: .salt)
            try container.encode(integrityCheck, forKey: .integrityCheck)
        case .ephemeralID(let id, let power):
            try begin(.ephemeralID, txPower: power)
            try container.encodeHex(id, forKey: .ephemeralID)
        }
    }
}
