public import BLE

/// The type of a battery (GATT Specification Supplement, Battery Information). Values that were not sent are nil.
public struct BatteryInformation: Hashable, Codable, ValueCodable {
    /// The features of a battery.
    public struct Features: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt8
        /// Creates a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The battery can be replaced.
        public static let replaceable = Features(rawValue: 0x01)
        /// The battery can be charged.
        public static let rechargeable = Features(rawValue: 0x02)
    }

    /// The features of the battery.
    public var features: Features
    /// The date of manufacture.
    public var manufactureDate: DateUTC?
    /// The expiration date.
    public var expirationDate: DateUTC?
    /// The capacity when new. Not negative.
    public var designedCapacityKilowattHours: MedFloat16?
    /// The energy at which the battery is low. Not negative.
    public var lowEnergyKilowattHours: MedFloat16?
    /// The energy at which the battery is critical. Not negative.
    public var criticalEnergyKilowattHours: MedFloat16?
    /// The chemistry.
    public var chemistry: BatteryChemistry?
    /// The nominal voltage.
    public var nominalVolts: MedFloat16?
    /// The group of batteries that the battery belongs to, 1 to 254. 0 means no group; 255 is reserved.
    public var aggregationGroup: UInt8?

    /// Creates the information.
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

    /// Decodes flags of two bytes, the features, and the fields that the flags announce.
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

    /// Encodes the value in the format that `init(from:)` decodes.
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

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

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

/// The chemistry of a battery. Other numbers are reserved.
public struct BatteryChemistry: RawRepresentable, Hashable, Codable, Sendable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown.
    public static let unknown = BatteryChemistry(rawValue: 0)
    /// Alkaline: zinc and manganese dioxide.
    public static let alkaline = BatteryChemistry(rawValue: 1)
    /// Lead-acid.
    public static let leadAcid = BatteryChemistry(rawValue: 2)
    /// Lithium iron disulfide.
    public static let lithiumIronDisulfide = BatteryChemistry(rawValue: 3)
    /// Lithium manganese dioxide.
    public static let lithiumManganeseDioxide = BatteryChemistry(rawValue: 4)
    /// Lithium-ion.
    public static let lithiumIon = BatteryChemistry(rawValue: 5)
    /// Lithium polymer.
    public static let lithiumPolymer = BatteryChemistry(rawValue: 6)
    /// Nickel oxyhydroxide.
    public static let nickelOxyhydroxide = BatteryChemistry(rawValue: 7)
    /// Nickel-cadmium.
    public static let nickelCadmium = BatteryChemistry(rawValue: 8)
    /// Nickel-metal hydride.
    public static let nickelMetalHydride = BatteryChemistry(rawValue: 9)
    /// Silver oxide.
    public static let silverOxide = BatteryChemistry(rawValue: 10)
    /// Zinc chloride.
    public static let zincChloride = BatteryChemistry(rawValue: 11)
    /// Zinc-air.
    public static let zincAir = BatteryChemistry(rawValue: 12)
    /// Zinc-carbon.
    public static let zincCarbon = BatteryChemistry(rawValue: 13)
    /// Another chemistry.
    public static let other = BatteryChemistry(rawValue: 255)
}

extension BatteryChemistry: NamedConstants {
    static let names = consecutive(
        "unknown", "alkaline", "leadAcid", "lithiumIronDisulfide", "lithiumManganeseDioxide", "lithiumIon",
        "lithiumPolymer", "nickelOxyhydroxide", "nickelCadmium", "nickelMetalHydride", "silverOxide", "zincChloride",
        "zincAir", "zincCarbon", and: [255: "other"])
}
