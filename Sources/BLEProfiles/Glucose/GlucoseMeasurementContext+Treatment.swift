public import BLE

extension GlucoseMeasurementContext {
    /// Exercise before a measurement.
    public struct Exercise: Hashable, Codable, Sendable {
        /// The duration, 0 to 65534 s. Nil if it is longer.
        public var durationSeconds: Int?
        /// The intensity in percent.
        public var intensityPercent: Int

        /// Creates exercise.
        public init(durationSeconds: Int?, intensityPercent: Int) {
            self.durationSeconds = durationSeconds
            self.intensityPercent = intensityPercent
        }

        init(from reader: inout ValueReader) throws(BLEError) {
            let seconds = try reader.uint16()
            durationSeconds = seconds == .max ? nil : Int(seconds)
            intensityPercent = Int(try reader.uint8())
        }

        func encode(into writer: inout ValueWriter) throws(BLEError) {
            guard durationSeconds != Int(UInt16.max) else {
                throw BLEError(.invalidValue, "the number 65535 means an exercise of more than 65534 s; use nil for it")
            }
            try writer.integer(durationSeconds ?? Int(UInt16.max), .uint16)
            try writer.integer(intensityPercent, .uint8)
        }
    }

    /// Medication for diabetes.
    public struct Medication: Hashable, Codable, Sendable {
        /// The kind of medication.
        public var kind: MedicationKind
        /// The amount, as sent.
        public var amount: MedFloat16
        /// The unit of the amount.
        public var unit: MedicationUnit

        /// Creates a medication.
        public init(_ kind: MedicationKind, amount: MedFloat16, unit: MedicationUnit) {
            self.kind = kind
            self.amount = amount
            self.unit = unit
        }

        init(from reader: inout ValueReader, _ unit: MedicationUnit) throws(BLEError) {
            kind = try reader.raw()
            amount = try reader.medFloat16()
            self.unit = unit
        }

        func encode(into writer: inout ValueWriter) {
            writer.raw(kind)
            writer.raw(amount)
        }
    }

    /// The unit of a medication on the wire.
    public enum MedicationUnit: String, Codable, Sendable {
        /// Kilograms.
        case kilograms
        /// Liters.
        case liters
    }

    /// A kind of medication. Other numbers are reserved.
    public struct MedicationKind: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Rapid-acting insulin.
        public static let rapidActingInsulin = MedicationKind(rawValue: 1)
        /// Short-acting insulin.
        public static let shortActingInsulin = MedicationKind(rawValue: 2)
        /// Intermediate-acting insulin.
        public static let intermediateActingInsulin = MedicationKind(rawValue: 3)
        /// Long-acting insulin.
        public static let longActingInsulin = MedicationKind(rawValue: 4)
        /// Premixed insulin.
        public static let premixedInsulin = MedicationKind(rawValue: 5)
    }
}

extension GlucoseMeasurementContext.MedicationKind: NamedConstants {
    static let names = consecutive(
        from: 1, "rapidActingInsulin", "shortActingInsulin", "intermediateActingInsulin", "longActingInsulin",
        "premixedInsulin")
}
