internal import BLE

/// A request, status or trigger, stored and sent as the hexadecimal text of its bytes.
protocol StoredAsBytes: ValueCodable, Codable {}

extension StoredAsBytes {
    /// Reads the value from the hexadecimal text of its bytes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let bytes = Hex.bytes(text), let value = try? Self(bytes: bytes) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "“\(text)” is not a \(Self.self)")
        }
        self = value
    }

    /// Writes the bytes as hexadecimal text. Throws `BLEError` for a value that cannot be encoded.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Hex.string(try encoded()))
    }
}

extension SCControlPointRequest: StoredAsBytes {}
extension CyclingPowerRequest: StoredAsBytes {}
extension FitnessMachineRequest: StoredAsBytes {}
extension FitnessMachineStatus: StoredAsBytes {}
extension ValueTrigger: StoredAsBytes {}
extension TimeTrigger: StoredAsBytes {}
