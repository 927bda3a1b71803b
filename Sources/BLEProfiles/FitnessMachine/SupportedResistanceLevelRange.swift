public import BLE

/// The target resistance levels that a fitness machine supports (Fitness Machine Service 1.0, section 4.13).
public struct SupportedResistanceLevelRange: Hashable, Codable, ValueCodable {
    /// The minimum, without a unit: tenths in the first edition, integers in the current one.
    public var minimum: Double
    /// The maximum.
    public var maximum: Double
    /// The increment.
    public var increment: Double
    /// The edition of the specification that defines the encoding.
    public var edition: FitnessMachineEdition

    /// Creates a range.
    public init(minimum: Double, maximum: Double, increment: Double, edition: FitnessMachineEdition = .current) {
        self.minimum = minimum
        self.maximum = maximum
        self.increment = increment
        self.edition = edition
    }

    /// Decodes three numbers, each of one byte in the current edition, and of two bytes in the first.
    public init(from reader: inout ValueReader) throws(BLEError) {
        if reader.remaining >= 6 {
            minimum = Double(try reader.int16()) / 10
            maximum = Double(try reader.int16()) / 10
            increment = Double(try reader.uint16()) / 10
            edition = .first
        } else {
            minimum = Double(try reader.uint8())
            maximum = Double(try reader.uint8())
            increment = Double(try reader.uint8())
            edition = .current
        }
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        switch edition {
        case .first:
            try writer.rounded(minimum * 10, .int16)
            try writer.rounded(maximum * 10, .int16)
            try writer.rounded(increment * 10, .uint16)
        case .current:
            for number in [minimum, maximum, increment] { try writer.rounded(number, .uint8) }
        }
    }
}

extension Characteristic where Value == SupportedResistanceLevelRange {
    /// The supported target resistance levels (section 4.13).
    public static var supportedResistanceLevelRange: Self {
        Characteristic(BluetoothUUID(0x2AD6), service: .fitnessMachine)
    }
}
