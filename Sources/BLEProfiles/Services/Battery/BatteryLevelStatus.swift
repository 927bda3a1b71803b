public import BLE

/// How a battery is powered and charged (Battery Service 1.1, section 3.2).
public struct BatteryLevelStatus: Hashable, ValueCodable {
    /// Whether there is a battery.
    public var isPresent: Bool
    /// Whether power comes over a wire; nil when that is not known.
    public var hasWiredPower: Bool?
    /// Whether power comes without a wire; nil when that is not known.
    public var hasWirelessPower: Bool?
    /// What the charge is doing.
    public var chargeState: ChargeState
    /// How the charge is judged.
    public var chargeLevel: ChargeLevel
    /// How it is being charged.
    public var chargingType: ChargingType
    /// Why it is not being charged as it should.
    public var chargingFaults: ChargingFaults
    /// Which battery it is, where there are several; nil when that was not sent.
    public var identifier: PresentationFormat.Description?
    /// The charge in percent, 0 to 100; nil when it was not sent.
    public var levelPercent: Int?
    /// Whether it needs service, and whether it has a fault; nil when that was not sent.
    public var additionalStatus: AdditionalStatus?

    /// A status. What is not given is not known.
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

    /// What the charge of a battery is doing.
    public enum ChargeState: UInt16, Sendable {
        /// Not known.
        case unknown
        /// It rises.
        case charging
        /// It is used.
        case discharging
        /// It falls by itself.
        case dischargingInactively
    }

    /// How the charge of a battery is judged.
    public enum ChargeLevel: UInt16, Sendable {
        /// Not known.
        case unknown
        /// It will last.
        case good
        /// It should be charged.
        case low
        /// It must be charged.
        case critical
    }

    /// How a battery is being charged.
    public enum ChargingType: UInt16, Sendable {
        /// Not known, or not at all.
        case unknownOrNotCharging
        /// With a constant current.
        case constantCurrent
        /// With a constant voltage.
        case constantVoltage
        /// With a trickle, as a full battery is.
        case trickle
        /// With a floating voltage.
        case float
    }

    /// Why a battery is not being charged as it should.
    public struct ChargingFaults: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Any bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The battery.
        public static let battery = ChargingFaults(rawValue: 0x1000)
        /// The external source of power.
        public static let externalPowerSource = ChargingFaults(rawValue: 0x2000)
        /// Something else.
        public static let other = ChargingFaults(rawValue: 0x4000)

        static let all: ChargingFaults = [.battery, .externalPowerSource, .other]
    }

    /// Whether a battery needs service, and whether it has a fault.
    public struct AdditionalStatus: Hashable, Sendable {
        /// It should be looked at; nil when that is not known.
        public var needsService: Bool?
        /// It has a fault; false when that is not known.
        public var hasFault: Bool

        /// A status.
        public init(needsService: Bool?, hasFault: Bool) {
            self.needsService = needsService
            self.hasFault = hasFault
        }
    }

    /// Flags, the power state, and what the flags announce. Reserved numbers mean that something is not known.
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
        if let levelPercent, levelPercent > 100 { throw reader.invalid("\(levelPercent) is no percentage") }
        guard flags & 0x04 != 0 else { return }
        let additional = try reader.uint8()
        additionalStatus = AdditionalStatus(
            needsService: Self.truth(UInt16(additional)), hasFault: additional & 0x04 != 0)
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (identifier != nil ? 0x01 : 0) | (levelPercent != nil ? 0x02 : 0) | (additionalStatus != nil ? 0x04 : 0))
        var state: UInt16 = isPresent ? 1 : 0
        state |= Self.number(hasWiredPower) << 1 | Self.number(hasWirelessPower) << 3
        state |= chargeState.rawValue << 5 | chargeLevel.rawValue << 7 | chargingType.rawValue << 9
        writer.uint16(state | chargingFaults.intersection(.all).rawValue)
        if let identifier { writer.raw(identifier) }
        if let levelPercent {
            guard 0...100 ~= levelPercent else { throw BLEError(.invalidValue, "\(levelPercent) is no percentage") }
            try writer.integer(levelPercent, .uint8)
        }
        if let additionalStatus {
            writer.uint8(
                UInt8(Self.number(additionalStatus.needsService)) | (additionalStatus.hasFault ? 0x04 : 0))
        }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }

    /// The lower two bits: no, yes, not known; the fourth is reserved.
    private static func truth(_ bits: UInt16) -> Bool? { [false, true, nil, nil][Int(bits & 3)] }
    private static func number(_ truth: Bool?) -> UInt16 { truth.map { $0 ? 1 : 0 } ?? 2 }
}

extension BatteryLevelStatus.ChargingFaults: NamedConstants {
    static let names = bits(from: 12, "battery", "externalPowerSource", "other")
}
