public import BLE

extension BluetoothUUID {
    /// The Heart Rate service.
    public static let heartRate = BluetoothUUID(0x180D)
}

/// The Heart Rate service of a sensor (Heart Rate Service 1.0).
public struct HeartRate: Profile {
    /// 0x180D.
    public static let serviceUUID = BluetoothUUID.heartRate
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, connecting, discovering and enabling notifications if necessary. Keeps the
    /// newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<HeartRateMeasurement> {
        try await service.notifications(.heartRateMeasurement)
    }

    /// Returns the location of the sensor on the body. Nil if the sensor does not have the characteristic.
    public func bodySensorLocation() async throws(BLEError) -> BodySensorLocation? {
        try await service.readIfPresent(.bodySensorLocation)
    }

    /// Resets the energy expended to zero.
    ///
    /// Throws `characteristicNotFound` if the sensor does not measure energy, and `attributeError` with
    /// ``BLE/ATTError/heartRateControlPointNotSupported`` if it does not support the command.
    public func resetEnergyExpended() async throws(BLEError) {
        try await service.write(.resetEnergyExpended, to: .heartRateControlPoint)
    }
}

extension Characteristic where Value == HeartRateMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var heartRateMeasurement: Self { Characteristic(BluetoothUUID(0x2A37), service: .heartRate) }
}

extension Characteristic where Value == BodySensorLocation {
    /// The location of the sensor on the body (section 3.2).
    public static var bodySensorLocation: Self { Characteristic(BluetoothUUID(0x2A38), service: .heartRate) }
}

extension Characteristic where Value == HeartRateCommand {
    /// The control point (section 3.3).
    public static var heartRateControlPoint: Self { Characteristic(BluetoothUUID(0x2A39), service: .heartRate) }
}

extension ATTError {
    /// A heart rate sensor does not support the command (section 3.3.2).
    public static let heartRateControlPointNotSupported = ATTError(rawValue: 0x80)
}

/// A measurement of a heart rate sensor (section 3.1).
public struct HeartRateMeasurement: Hashable, Codable, ValueCodable {
    /// The heart rate in beats per minute, 0 to 65535.
    public var beatsPerMinute: Int
    /// Whether the sensor has skin contact. Nil if the sensor cannot detect it.
    public var contact: Bool?
    /// The energy expended since the last reset in kilojoules, 0 to 65535. Nil if not sent. 65535 means 65535 or more.
    public var energyExpendedKilojoules: Int?
    /// The times between beats in seconds, oldest first, with a resolution of 1/1024 s.
    public var rrIntervalsSeconds: [Double]

    /// Creates a measurement.
    public init(
        beatsPerMinute: Int, contact: Bool? = nil, energyExpendedKilojoules: Int? = nil,
        rrIntervalsSeconds: [Double] = []
    ) {
        self.beatsPerMinute = beatsPerMinute
        self.contact = contact
        self.energyExpendedKilojoules = energyExpendedKilojoules
        self.rrIntervalsSeconds = rrIntervalsSeconds
    }

    /// Decodes a flag byte, the rate as one or two bytes, and the fields that the flags announce. Intervals extend to
    /// the end.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        beatsPerMinute = flags.contains(.wideRate) ? Int(try reader.uint16()) : Int(try reader.uint8())
        contact = flags.contains(.contactSupported) ? flags.contains(.contact) : nil
        energyExpendedKilojoules = flags.contains(.energyExpended) ? Int(try reader.uint16()) : nil
        rrIntervalsSeconds = []
        guard flags.contains(.rrIntervals) else { return }
        while reader.remaining > 0 { rrIntervalsSeconds.append(Double(try reader.uint16()) / 1024) }
    }

    /// Encodes the measurement. A rate up to 255 has one byte.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = []
        if beatsPerMinute > 255 { flags.insert(.wideRate) }
        if contact != nil { flags.insert(.contactSupported) }
        if contact == true { flags.insert(.contact) }
        if energyExpendedKilojoules != nil { flags.insert(.energyExpended) }
        if !rrIntervalsSeconds.isEmpty { flags.insert(.rrIntervals) }
        writer.raw(flags)
        try writer.integer(beatsPerMinute, flags.contains(.wideRate) ? .uint16 : .uint8)
        if let energyExpendedKilojoules { try writer.integer(energyExpendedKilojoules, .uint16) }
        for interval in rrIntervalsSeconds { try writer.rounded(interval * 1024, .uint16) }
    }

    /// True (Heart Rate Profile 1.0, section 4.5.1).
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let wideRate = Flags(rawValue: 0x01)
        static let contact = Flags(rawValue: 0x02)
        static let contactSupported = Flags(rawValue: 0x04)
        static let energyExpended = Flags(rawValue: 0x08)
        static let rrIntervals = Flags(rawValue: 0x10)
    }
}

/// The location of a heart rate sensor on the body (section 3.2.1). Other numbers are reserved.
public struct BodySensorLocation: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Another location.
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

/// A command to a heart rate sensor (section 3.3.1). Other numbers are reserved.
public struct HeartRateCommand: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Resets the energy expended to zero.
    public static let resetEnergyExpended = HeartRateCommand(rawValue: 1)
}

extension HeartRateCommand: NamedConstants {
    static let names: [UInt8: String] = [1: "resetEnergyExpended"]
}
