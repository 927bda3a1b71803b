public import BLE

extension BluetoothUUID {
    /// The Heart Rate service.
    public static let heartRate = BluetoothUUID(0x180D)
}

/// The Heart Rate service of a sensor (Heart Rate Service 1.0).
public struct HeartRate: Profile {
    /// 0x180D.
    public static let serviceUUID = BluetoothUUID.heartRate
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on. Connects, discovers and subscribes as needed. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<HeartRateMeasurement> {
        try await service.notifications(.heartRateMeasurement)
    }

    /// Where the sensor is worn; nil when it does not say.
    public func bodySensorLocation() async throws(BLEError) -> BodySensorLocation? {
        try await service.readIfPresent(.bodySensorLocation)
    }

    /// Sets the energy expended back to zero.
    ///
    /// Throws `characteristicNotFound` when the sensor does not count it, and `attributeError` with
    /// ``BLE/ATTError/heartRateControlPointNotSupported`` when it does not take the command.
    public func resetEnergyExpended() async throws(BLEError) {
        try await service.write(.resetEnergyExpended, to: .heartRateControlPoint)
    }
}

extension Characteristic where Value == HeartRateMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var heartRateMeasurement: Self { Characteristic(BluetoothUUID(0x2A37), service: .heartRate) }
}

extension Characteristic where Value == BodySensorLocation {
    /// Where the sensor is worn (section 3.2).
    public static var bodySensorLocation: Self { Characteristic(BluetoothUUID(0x2A38), service: .heartRate) }
}

extension Characteristic where Value == HeartRateCommand {
    /// Takes commands (section 3.3).
    public static var heartRateControlPoint: Self { Characteristic(BluetoothUUID(0x2A39), service: .heartRate) }
}

extension ATTError {
    /// What a heart rate sensor answers to a command that it does not know (section 3.3.2).
    public static let heartRateControlPointNotSupported = ATTError(rawValue: 0x80)
}

/// What a heart rate sensor measured (section 3.1).
public struct HeartRateMeasurement: Hashable, ValueCodable {
    /// Beats per minute, 0 to 65535.
    public var beatsPerMinute: Int
    /// Whether the sensor touches the skin; nil when it cannot tell.
    public var contact: Bool?
    /// Energy expended since the last reset in kilojoules, 0 to 65535; nil when it was not sent. 65535 means at least that.
    public var energyExpendedKilojoules: Int?
    /// The times between beats in seconds, oldest first, with a resolution of 1/1024 s.
    public var rrIntervals: [Double]

    /// A measurement.
    public init(
        beatsPerMinute: Int, contact: Bool? = nil, energyExpendedKilojoules: Int? = nil, rrIntervals: [Double] = []
    ) {
        self.beatsPerMinute = beatsPerMinute
        self.contact = contact
        self.energyExpendedKilojoules = energyExpendedKilojoules
        self.rrIntervals = rrIntervals
    }

    /// A flag byte, the rate as one or two bytes, then what the flags announce; intervals to the end, in any number.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        beatsPerMinute = flags.contains(.wideRate) ? Int(try reader.uint16()) : Int(try reader.uint8())
        contact = flags.contains(.contactSupported) ? flags.contains(.contact) : nil
        energyExpendedKilojoules = flags.contains(.energyExpended) ? Int(try reader.uint16()) : nil
        rrIntervals = []
        guard flags.contains(.rrIntervals) else { return }
        while reader.remaining > 0 { rrIntervals.append(Double(try reader.uint16()) / 1024) }
    }

    /// The same; a rate up to 255 in one byte.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = []
        if beatsPerMinute > 255 { flags.insert(.wideRate) }
        if contact != nil { flags.insert(.contactSupported) }
        if contact == true { flags.insert(.contact) }
        if energyExpendedKilojoules != nil { flags.insert(.energyExpended) }
        if !rrIntervals.isEmpty { flags.insert(.rrIntervals) }
        writer.raw(flags)
        try writer.integer(beatsPerMinute, flags.contains(.wideRate) ? .uint16 : .uint8)
        if let energyExpendedKilojoules { try writer.integer(energyExpendedKilojoules, .uint16) }
        for interval in rrIntervals { try writer.rounded(interval * 1024, .uint16) }
    }

    /// Further bytes are passed over (Heart Rate Profile 1.0, section 4.5.1).
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let wideRate = Flags(rawValue: 0x01)
        static let contact = Flags(rawValue: 0x02)
        static let contactSupported = Flags(rawValue: 0x04)
        static let energyExpended = Flags(rawValue: 0x08)
        static let rrIntervals = Flags(rawValue: 0x10)
    }
}

/// Where a heart rate sensor is worn (section 3.2.1). Other numbers are reserved.
public struct BodySensorLocation: RawRepresentable, Hashable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Somewhere else.
    public static let other = BodySensorLocation(rawValue: 0)
    /// On the chest.
    public static let chest = BodySensorLocation(rawValue: 1)
    /// On the wrist.
    public static let wrist = BodySensorLocation(rawValue: 2)
    /// On a finger.
    public static let finger = BodySensorLocation(rawValue: 3)
    /// On a hand.
    public static let hand = BodySensorLocation(rawValue: 4)
    /// On an ear lobe.
    public static let earLobe = BodySensorLocation(rawValue: 5)
    /// On a foot.
    public static let foot = BodySensorLocation(rawValue: 6)
}

extension BodySensorLocation: NamedConstants {
    static let names = consecutive("other", "chest", "wrist", "finger", "hand", "earLobe", "foot")
}

/// What a heart rate sensor can be told to do (section 3.3.1). Other numbers are reserved.
public struct HeartRateCommand: RawRepresentable, Hashable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Sets the energy expended back to zero.
    public static let resetEnergyExpended = HeartRateCommand(rawValue: 1)
}

extension HeartRateCommand: NamedConstants {
    static let names: [UInt8: String] = [1: "resetEnergyExpended"]
}
