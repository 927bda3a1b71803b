public import BLE

/// A glucose concentration in a fluid (Glucose Service 1.0.1, sections 3.1.1.5 and 3.1.1.6).
public struct GlucoseSample: Hashable, Codable, Sendable {
    /// The concentration, as sent.
    public var concentration: MedFloat16
    /// The unit of the concentration.
    public var unit: Unit
    /// The fluid.
    public var fluid: Fluid
    /// The location from which the sample was taken.
    public var location: Location

    /// Creates a sample.
    public init(
        concentration: MedFloat16, unit: Unit, fluid: Fluid = .capillaryWholeBlood, location: Location = .notAvailable
    ) {
        self.concentration = concentration
        self.unit = unit
        self.fluid = fluid
        self.location = location
    }

    /// The unit of a concentration, as sent.
    public enum Unit: String, Codable, Sendable {
        /// Kilograms per liter.
        case kilogramsPerLiter
        /// Moles per liter.
        case molesPerLiter
    }

    /// The concentration in mg/dL. NaN or infinite for a special value.
    ///
    /// A concentration in mol/l is converted with glucose's molar mass of 180.156 g/mol, and rounded to one digit more
    /// than were sent: 99.1 for 5.5 mmol/L.
    public var milligramsPerDeciliter: Double {
        unit == .kilogramsPerLiter ? scaled(5) : concentration.converted(by: 18.0156, exponent: 3)
    }

    /// The concentration in mmol/L. NaN or infinite for a special value.
    ///
    /// A concentration in kg/l is converted with glucose's molar mass of 180.156 g/mol, and rounded to one digit more
    /// than were sent: 6.661 for 120 mg/dL.
    public var millimolesPerLiter: Double {
        unit == .molesPerLiter ? scaled(3) : concentration.converted(by: 1 / 18.0156, exponent: 5)
    }

    /// Returns the number times ten to the power of `exponent`, rounded once.
    private func scaled(_ exponent: Int) -> Double {
        guard let decimal = concentration.decimal else { return concentration.doubleValue }
        return .decimal(decimal.mantissa, decimal.exponent + exponent)
    }

    /// A measured fluid. Other numbers are reserved.
    public struct Fluid: RawRepresentable, Hashable, Codable, Sendable {
        /// The number. Only its lower four bits are sent.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Capillary whole blood.
        public static let capillaryWholeBlood = Fluid(rawValue: 1)
        /// Capillary plasma.
        public static let capillaryPlasma = Fluid(rawValue: 2)
        /// Venous whole blood.
        public static let venousWholeBlood = Fluid(rawValue: 3)
        /// Venous plasma.
        public static let venousPlasma = Fluid(rawValue: 4)
        /// Arterial whole blood.
        public static let arterialWholeBlood = Fluid(rawValue: 5)
        /// Arterial plasma.
        public static let arterialPlasma = Fluid(rawValue: 6)
        /// Whole blood of undetermined origin.
        public static let undeterminedWholeBlood = Fluid(rawValue: 7)
        /// Plasma of undetermined origin.
        public static let undeterminedPlasma = Fluid(rawValue: 8)
        /// Interstitial fluid.
        public static let interstitialFluid = Fluid(rawValue: 9)
        /// A control solution in place of a sample, to check the meter.
        public static let controlSolution = Fluid(rawValue: 10)
    }

    /// The location from which a sample is taken. Other numbers are reserved.
    public struct Location: RawRepresentable, Hashable, Codable, Sendable {
        /// The number. Only its lower four bits are sent.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A finger.
        public static let finger = Location(rawValue: 1)
        /// An alternate site.
        public static let alternateSite = Location(rawValue: 2)
        /// An ear lobe.
        public static let earLobe = Location(rawValue: 3)
        /// A control solution in place of a sample, to check the meter.
        public static let controlSolution = Location(rawValue: 4)
        /// Not available.
        public static let notAvailable = Location(rawValue: 15)
    }

    init(from reader: inout ValueReader, _ unit: Unit) throws(BLEError) {
        self.unit = unit
        concentration = try reader.medFloat16()
        let typeAndLocation = try reader.uint8()
        fluid = Fluid(rawValue: typeAndLocation & 0x0F)
        location = Location(rawValue: typeAndLocation >> 4)
    }

    func encode(into writer: inout ValueWriter) throws(BLEError) {
        guard fluid.rawValue < 16, location.rawValue < 16 else {
            throw BLEError(.invalidValue, "fluid and location are not both in the range 0 to 15")
        }
        writer.raw(concentration)
        writer.uint8(fluid.rawValue | location.rawValue << 4)
    }
}

extension GlucoseSample.Fluid: NamedConstants {
    static let names = consecutive(
        from: 1, "capillaryWholeBlood", "capillaryPlasma", "venousWholeBlood", "venousPlasma", "arterialWholeBlood",
        "arterialPlasma", "undeterminedWholeBlood", "undeterminedPlasma", "interstitialFluid", "controlSolution")
}

extension GlucoseSample.Location: NamedConstants {
    static let names = consecutive(
        from: 1, "finger", "alternateSite", "earLobe", "controlSolution", and: [15: "notAvailable"])
}
