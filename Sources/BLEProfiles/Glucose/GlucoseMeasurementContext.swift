public import BLE

/// The context of a glucose meter's record (Glucose Service 1.0.1, section 3.2).
public struct GlucoseMeasurementContext: Hashable, Codable, ValueCodable {
    /// The sequence number of the record, 0 to 65535.
    public var sequenceNumber: UInt16
    /// The carbohydrates. Nil if not sent.
    public var carbohydrates: Carbohydrates?
    /// The relation to a meal. Nil if not sent.
    public var meal: Meal?
    /// The circumstances of the measurement. Nil if not sent.
    public var examination: Examination?
    /// The exercise. Nil if not sent.
    public var exercise: Exercise?
    /// The medication. Nil if not sent.
    public var medication: Medication?
    /// The glycated hemoglobin, in percent. Nil if not sent.
    public var hbA1cPercent: MedFloat16?

    /// Creates a context. Values are not sent by default.
    public init(
        sequenceNumber: UInt16, carbohydrates: Carbohydrates? = nil, meal: Meal? = nil,
        examination: Examination? = nil, exercise: Exercise? = nil, medication: Medication? = nil,
        hbA1cPercent: MedFloat16? = nil
    ) {
        self.sequenceNumber = sequenceNumber
        self.carbohydrates = carbohydrates
        self.meal = meal
        self.examination = examination
        self.exercise = exercise
        self.medication = medication
        self.hbA1cPercent = hbA1cPercent
    }

    /// Decodes a flag byte, the number, optional extended flags, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        sequenceNumber = try reader.uint16()
        if flags.contains(.extended) { _ = try reader.uint8() }
        carbohydrates = flags.contains(.carbohydrates) ? try Carbohydrates(from: &reader) : nil
        meal = flags.contains(.meal) ? try reader.raw() : nil
        examination = flags.contains(.examination) ? try Examination(from: &reader) : nil
        exercise = flags.contains(.exercise) ? try Exercise(from: &reader) : nil
        medication =
            flags.contains(.medication)
            ? try Medication(from: &reader, flags.contains(.liters) ? .liters : .kilograms) : nil
        hbA1cPercent = flags.contains(.hbA1c) ? try reader.medFloat16() : nil
    }

    /// Encodes the context without extended flags, all of which are reserved.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = []
        if carbohydrates != nil { flags.insert(.carbohydrates) }
        if meal != nil { flags.insert(.meal) }
        if examination != nil { flags.insert(.examination) }
        if exercise != nil { flags.insert(.exercise) }
        if medication != nil { flags.insert(.medication) }
        if medication?.unit == .liters { flags.insert(.liters) }
        if hbA1cPercent != nil { flags.insert(.hbA1c) }
        writer.raw(flags)
        writer.uint16(sequenceNumber)
        carbohydrates?.encode(into: &writer)
        if let meal { writer.raw(meal) }
        try examination?.encode(into: &writer)
        try exercise?.encode(into: &writer)
        medication?.encode(into: &writer)
        if let hbA1cPercent { writer.raw(hbA1cPercent) }
    }

    /// True, since the extended flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let carbohydrates = Flags(rawValue: 0x01)
        static let meal = Flags(rawValue: 0x02)
        static let examination = Flags(rawValue: 0x04)
        static let exercise = Flags(rawValue: 0x08)
        static let medication = Flags(rawValue: 0x10)
        static let liters = Flags(rawValue: 0x20)
        static let hbA1c = Flags(rawValue: 0x40)
        static let extended = Flags(rawValue: 0x80)
    }
}
