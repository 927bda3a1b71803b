public import BLE

/// What a person noted with a record of a glucose meter (Glucose Service 1.0.1, section 3.2).
public struct GlucoseMeasurementContext: Hashable, ValueCodable {
    /// The number of the record that it belongs to, 0 to 65535.
    public var sequenceNumber: UInt16
    /// What was eaten or drunk; nil when that was not sent.
    public var carbohydrates: Carbohydrates?
    /// How that lies in time; nil when that was not sent.
    public var meal: Meal?
    /// Who measured whom; nil when that was not sent.
    public var examination: Examination?
    /// What exercise there was; nil when that was not sent.
    public var exercise: Exercise?
    /// What was taken against diabetes; nil when that was not sent.
    public var medication: Medication?
    /// The glycated haemoglobin, in percent; nil when it was not sent.
    public var hbA1cPercent: MedFloat16?

    /// A context. What is not given is not sent.
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

    /// A flag byte, the number, perhaps further flags, then what the flags announce.
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

    /// The same, without further flags, of which none has a meaning.
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

    /// Further bytes are passed over, which the further flags may announce.
    public static var ignoresFurtherBytes: Bool { true }

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
