public import BLE

/// The resistance levels that a fitness machine can take (Fitness Machine Service 1.0, section 4.13).
public struct SupportedResistanceLevelRange: Hashable, ValueCodable {
    /// The least, without a unit: tenths in the first edition, whole numbers in the current one.
    public var minimum: Double
    /// The greatest.
    public var maximum: Double
    /// The steps between.
    public var increment: Double
    /// After which edition of the specification it is spelled.
    public var edition: FitnessMachineEdition

    /// A range.
    public init(minimum: Double, maximum: Double, increment: Double, edition: FitnessMachineEdition = .current) {
        self.minimum = minimum
        self.maximum = maximum
        self.increment = increment
        self.edition = edition
    }

    /// Three numbers: of one byte in the current edition, and of two in the first.
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

    /// The same.
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
    /// The resistance levels that the machine can take (section 4.13).
    public static var supportedResistanceLevelRange: Self {
        Characteristic(BluetoothUUID(0x2AD6), service: .fitnessMachine)
    }
}
