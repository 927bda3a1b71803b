internal import BLE

extension GlucoseMeasurementContext {
    /// What exercise there was.
    public struct Exercise: Hashable, Sendable {
        /// How long, 0 to 65534 s; nil for longer.
        public var durationSeconds: Int?
        /// How hard, in percent.
        public var intensityPercent: Int

        /// Exercise.
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
                throw BLEError(.invalidValue, "an exercise of 65535 s is told as one that is longer: nil")
            }
            try writer.integer(durationSeconds ?? Int(UInt16.max), .uint16)
            try writer.integer(intensityPercent, .uint8)
        }
    }

    /// What was taken against diabetes.
    public struct Medication: Hashable, Sendable {
        /// What it is.
        public var kind: MedicationKind
        /// How much, as it was sent.
        public var amount: MedFloat16
        /// The unit of the amount.
        public var unit: MedicationUnit

        /// A medication.
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
    public enum MedicationUnit: Sendable {
        /// kg.
        case kilograms
        /// Litres.
        case liters
    }

    /// What was taken. Other numbers are reserved.
    public struct MedicationKind: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Insulin that acts rapidly.
        public static let rapidActingInsulin = MedicationKind(rawValue: 1)
        /// Insulin that acts for a short time.
        public static let shortActingInsulin = MedicationKind(rawValue: 2)
        /// Insulin that acts for some time.
        public static let intermediateActingInsulin = MedicationKind(rawValue: 3)
        /// Insulin that acts for a long time.
        public static let longActingInsulin = MedicationKind(rawValue: 4)
        /// A mixture of insulins.
        public static let premixedInsulin = MedicationKind(rawValue: 5)
    }
}

extension GlucoseMeasurementContext.MedicationKind: NamedConstants {
    static let names = consecutive(
        from: 1, "rapidActingInsulin", "shortActingInsulin", "intermediateActingInsulin", "longActingInsulin",
        "premixedInsulin")
}
