public import BLE

/// The state of power and charging of a battery (Battery Service 1.1, section 3.2).
public struct BatteryLevelStatus: Hashable, Codable, ValueCodable {
    /// Whether a battery is present.
    public var isPresent: Bool
    /// Whether a wired power source is connected. Nil if unknown.
    public var hasWiredPower: Bool?
    /// Whether a wireless power source is connected. Nil if unknown.
    public var hasWirelessPower: Bool?
    /// The charge state.
    public var chargeState: ChargeState
    /// The rating of the charge level.
    public var chargeLevel: ChargeLevel
    /// The type of charging.
    public var chargingType: ChargingType
    /// The causes of a charging fault.
    public var chargingFaults: ChargingFaults
    /// The position of the battery, if there are several. Nil if not sent.
    public var identifier: PresentationFormat.Description?
    /// The charge in percent, 0 to 100. Nil if not sent.
    public var levelPercent: Int?
    /// Whether the battery needs service, and whether it has a fault. Nil if not sent.
    public var additionalStatus: AdditionalStatus?

    /// Creates a status. Values are unknown by default.
    public init(
        isPresent: Bool = true, hasWiredPower: Bool? = nil, hasWirelessPower: Bool? = nil,
        chargeState: ChargeState = .unknown, chargeLevel: ChargeLevel = .unknown,
        chargingType: ChargingType = .unknownOrNotCharging, chargingFaults: ChargingFaults = [],
        identifier: PresentationFormat.Description? = nil, levelPercent: Int? = nil,
        additionalStatus: AdditionalStatus? = nil
    ) {
        self.isPresent = isPresent
        self.hasWiredPower = hasWiredPower
        self.hasWirelessPower = hasWirelessPower
        self.chargeState = chargeState
        self.chargeLevel = chargeLevel
        self.chargingType = chargingType
        self.chargingFaults = chargingFaults
        self.identifier = identifier
        self.levelPercent = levelPercent
        self.additionalStatus = additionalStatus
    }

    /// The charge state of a battery.
    public enum ChargeState: UInt16, Codable, Sendable {
        /// Unknown.
        case unknown
        /// The battery is being charged.
        case charging
        /// The battery is being discharged by use.
        case discharging
        /// The battery discharges without being used.
        case dischargingInactively
    }

    /// The rating of a battery's charge level.
    public enum ChargeLevel: UInt16, Codable, Sendable {
        /// Unknown.
        case unknown
        /// The charge is sufficient.
        case good
        /// The battery should be charged.
        case low
        /// The battery must be charged.
        case critical
    }

    /// The type of charging of a battery.
    public enum ChargingType: UInt16, Codable, Sendable {
        /// Unknown, or not charging.
        case unknownOrNotCharging
        /// Constant current.
        case constantCurrent
        /// Constant voltage.
        case constantVoltage
        /// Trickle charging, for a full battery.
        case trickle
        /// Float charging.
        case float
    }

    /// The causes of a charging fault.
    public struct ChargingFaults: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Creates a set from its bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// A fault of the battery.
        public static let battery = ChargingFaults(rawValue: 0x1000)
        /// A fault of the external power source.
        public static let externalPowerSource = ChargingFaults(rawValue: 0x2000)
        /// Another fault.
        public static let other = ChargingFaults(rawValue: 0x4000)

        static let all: ChargingFaults = [.battery, .externalPowerSource, .other]
    }

    /// Whether a battery needs service, and whether it has a fault.
    public struct AdditionalStatus: Hashable, Codable, Sendable {
        /// Whether the battery needs service. Nil if unknown.
        public var needsService: Bool?
        /// Whether the battery has a fault. False if unknown.
        public var hasFault: Bool

        /// Creates a status.
        public init(needsService: Bool?, hasFault: Bool) {
            self.needsService = needsService
            self.hasFault = hasFault
        }
    }

    /// Decodes flags, the power state, and the fields that the flags announce. Reserved numbers mean unknown.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        let state = try reader.uint16()
        isPresent = state & 1 != 0
        hasWiredPower = Self.truth(state >> 1)
        hasWirelessPower = Self.truth(state >> 3)
        chargeState = ChargeState(rawValue: state >> 5 & 3) ?? .unknown
        chargeLevel = ChargeLevel(rawValue: state >> 7 & 3) ?? .unknown
        chargingType = ChargingType(rawValue: state >> 9 & 7) ?? .unknownOrNotCharging
        chargingFaults = ChargingFaults(rawValue: state).intersection(.all)
        identifier = flags & 0x01 != 0 ? try reader.raw() : nil
        levelPercent = flags & 0x02 != 0 ? Int(try reader.uint8()) : nil
        if let levelPercent, levelPercent > 100 { throw reader.invalid("\(levelPercent) is not between 0 and 100") }
        guard flags & 0x04 != 0 else { return }
        let additional = try reader.uint8()
        additionalStatus = AdditionalStatus(
            needsService: Self.truth(UInt16(additional)), hasFault: additional & 0x04 != 0)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (identifier != nil ? 0x01 : 0) | (levelPercent != nil ? 0x02 : 0) | (additionalStatus != nil ? 0x04 : 0))
        var state: UInt16 = isPresent ? 1 : 0
        state |= Self.number(hasWiredPower) << 1 | Self.number(hasWirelessPower) << 3
        state |= chargeState.rawValue << 5 | chargeLevel.rawValue << 7 | chargingType.rawValue << 9
        writer.uint16(state | chargingFaults.intersection(.all).rawValue)
        if let identifier { writer.raw(identifier) }
        if let levelPercent {
            guard 0...100 ~= levelPercent else {
                throw BLEError(.invalidValue, "\(levelPercent) is not between 0 and 100")
            }
            try writer.integer(levelPercent, .uint8)
        }
        if let additionalStatus {
            writer.uint8(
                UInt8(Self.number(additionalStatus.needsService)) | (additionalStatus.hasFault ? 0x04 : 0))
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    /// Decodes the lower two bits: no, yes, unknown. The fourth value is reserved.
    private static func truth(_ bits: UInt16) -> Bool? { [false, true, nil, nil][Int(bits & 3)] }
    private static func number(_ truth: Bool?) -> UInt16 { truth.map { $0 ? 1 : 0 } ?? 2 }
}

extension BatteryLevelStatus.ChargingFaults: NamedConstants {
    static let names = bits(from: 12, "battery", "externalPowerSource", "other")
}
