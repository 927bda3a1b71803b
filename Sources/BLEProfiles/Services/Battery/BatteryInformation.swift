public import BLE

/// What kind of battery it is (GATT Specification Supplement, Battery Information). What was not sent is nil.
public struct BatteryInformation: Hashable, ValueCodable {
    /// What can be done with a battery.
    public struct Features: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Any bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// It can be replaced.
        public static let replaceable = Features(rawValue: 0x01)
        /// It can be charged.
        public static let rechargeable = Features(rawValue: 0x02)
    }

    /// What can be done with it.
    public var features: Features
    /// When it was made.
    public var manufactureDate: DateUTC?
    /// When it expires.
    public var expirationDate: DateUTC?
    /// The energy that it could hold when it was new; not negative.
    public var designedCapacityKilowattHours: MedFloat16?
    /// The energy at which it is low; not negative.
    public var lowEnergyKilowattHours: MedFloat16?
    /// The energy at which it is critical; not negative.
    public var criticalEnergyKilowattHours: MedFloat16?
    /// What it is made of.
    public var chemistry: BatteryChemistry?
    /// The voltage that it is called by.
    public var nominalVolts: MedFloat16?
    /// The group of batteries that it works with, 1 to 254; 0 for none, 255 is reserved.
    public var aggregationGroup: UInt8?

    /// A kind of battery.
    public init(
        features: Features = [], manufactureDate: DateUTC? = nil, expirationDate: DateUTC? = nil,
        designedCapacityKilowattHours: MedFloat16? = nil, lowEnergyKilowattHours: MedFloat16? = nil,
        criticalEnergyKilowattHours: MedFloat16? = nil, chemistry: BatteryChemistry? = nil,
        nominalVolts: MedFloat16? = nil, aggregationGroup: UInt8? = nil
    ) {
        self.features = features
        self.manufactureDate = manufactureDate
        self.expirationDate = expirationDate
        self.designedCapacityKilowattHours = designedCapacityKilowattHours
        self.lowEnergyKilowattHours = lowEnergyKilowattHours
        self.criticalEnergyKilowattHours = criticalEnergyKilowattHours
        self.chemistry = chemistry
        self.nominalVolts = nominalVolts
        self.aggregationGroup = aggregationGroup
    }

    /// Flags of two bytes, the features, and what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        features = try reader.raw()
        manufactureDate = flags.contains(.manufactureDate) ? try DateUTC(from: &reader) : nil
        expirationDate = flags.contains(.expirationDate) ? try DateUTC(from: &reader) : nil
        designedCapacityKilowattHours = flags.contains(.designedCapacity) ? try reader.notNegativeMedFloat16() : nil
        lowEnergyKilowattHours = flags.contains(.lowEnergy) ? try reader.notNegativeMedFloat16() : nil
        criticalEnergyKilowattHours = flags.contains(.criticalEnergy) ? try reader.notNegativeMedFloat16() : nil
        chemistry = flags.contains(.chemistry) ? try reader.raw() : nil
        nominalVolts = flags.contains(.nominalVoltage) ? try reader.medFloat16() : nil
        aggregationGroup = flags.contains(.aggregationGroup) ? try reader.uint8() : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = []
        if manufactureDate != nil { flags.insert(.manufactureDate) }
        if expirationDate != nil { flags.insert(.expirationDate) }
        if designedCapacityKilowattHours != nil { flags.insert(.designedCapacity) }
        if lowEnergyKilowattHours != nil { flags.insert(.lowEnergy) }
        if criticalEnergyKilowattHours != nil { flags.insert(.criticalEnergy) }
        if chemistry != nil { flags.insert(.chemistry) }
        if nominalVolts != nil { flags.insert(.nominalVoltage) }
        if aggregationGroup != nil { flags.insert(.aggregationGroup) }
        writer.raw(flags)
        writer.raw(features)
        try manufactureDate?.encode(into: &writer)
        try expirationDate?.encode(into: &writer)
        for energy in [designedCapacityKilowattHours, lowEnergyKilowattHours, criticalEnergyKilowattHours] {
            if let energy { try writer.notNegative(energy) }
        }
        if let chemistry { writer.raw(chemistry) }
        if let nominalVolts { writer.raw(nominalVolts) }
        if let aggregationGroup { writer.uint8(aggregationGroup) }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt16
        static let manufactureDate = Flags(rawValue: 0x01)
        static let expirationDate = Flags(rawValue: 0x02)
        static let designedCapacity = Flags(rawValue: 0x04)
        static let lowEnergy = Flags(rawValue: 0x08)
        static let criticalEnergy = Flags(rawValue: 0x10)
        static let chemistry = Flags(rawValue: 0x20)
        static let nominalVoltage = Flags(rawValue: 0x40)
        static let aggregationGroup = Flags(rawValue: 0x80)
    }
}

extension BatteryInformation.Features: NamedConstants {
    static let names = bits("replaceable", "rechargeable")
}

/// What a battery is made of. Other numbers are reserved.
public struct BatteryChemistry: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not known.
    public static let unknown = BatteryChemistry(rawValue: 0)
    /// Alkaline: zinc and manganese dioxide.
    public static let alkaline = BatteryChemistry(rawValue: 1)
    /// Lead and acid.
    public static let leadAcid = BatteryChemistry(rawValue: 2)
    /// Lithium and iron disulfide.
    public static let lithiumIronDisulfide = BatteryChemistry(rawValue: 3)
    /// Lithium and manganese dioxide.
    public static let lithiumManganeseDioxide = BatteryChemistry(rawValue: 4)
    /// Lithium ions.
    public static let lithiumIon = BatteryChemistry(rawValue: 5)
    /// Lithium polymer.
    public static let lithiumPolymer = BatteryChemistry(rawValue: 6)
    /// Nickel oxyhydroxide.
    public static let nickelOxyhydroxide = BatteryChemistry(rawValue: 7)
    /// Nickel and cadmium.
    public static let nickelCadmium = BatteryChemistry(rawValue: 8)
    /// Nickel and metal hydride.
    public static let nickelMetalHydride = BatteryChemistry(rawValue: 9)
    /// Silver oxide and zinc.
    public static let silverOxide = BatteryChemistry(rawValue: 10)
    /// Zinc chloride.
    public static let zincChloride = BatteryChemistry(rawValue: 11)
    /// Zinc and air.
    public static let zincAir = BatteryChemistry(rawValue: 12)
    /// Zinc and carbon.
    public static let zincCarbon = BatteryChemistry(rawValue: 13)
    /// Something else.
    public static let other = BatteryChemistry(rawValue: 255)
}

extension BatteryChemistry: NamedConstants {
    static let names = consecutive(
        "unknown", "alkaline", "leadAcid", "lithiumIronDisulfide", "lithiumManganeseDioxide", "lithiumIon",
        "lithiumPolymer", "nickelOxyhydroxide", "nickelCadmium", "nickelMetalHydride", "silverOxide", "zincChloride",
        "zincAir", "zincCarbon", and: [255: "other"])
}
