public import BLE

extension BluetoothUUID {
    /// The Heart Rate service.
    public static let heartRate = BluetoothUUID(0x180D)
}

extension Characteristic where Value == HeartRateMeasurement {
    /// A measurement, notified about once a second (Heart Rate Service 1.0, section 3.1).
    public static var heartRateMeasurement: Self {
        Characteristic(
            ValueCoding(receiveOnly: HeartRateMeasurement.init(bytes:)), BluetoothUUID(0x2A37), service: .heartRate)
    }
}

extension Characteristic where Value == BodySensorLocation {
    /// Where the sensor is worn (section 3.2).
    public static var bodySensorLocation: Self {
        Characteristic(.rawValue, BluetoothUUID(0x2A38), service: .heartRate)
    }
}

extension Characteristic where Value == UInt8 {
    /// Takes commands (section 3.3); the only one is 1, reset energy expended.
    public static var heartRateControlPoint: Self {
        Characteristic(.uint8, BluetoothUUID(0x2A39), service: .heartRate)
    }
}

/// Where a heart rate sensor is worn (Heart Rate Service 1.0, section 3.2.1). Other values are reserved.
public struct BodySensorLocation: RawRepresentable, Hashable, Sendable {
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

extension ValueCoding where Value: RawRepresentable, Value.RawValue == UInt8 {
    /// A type of one byte.
    static var rawValue: Self {
        ValueCoding(
            decode: { (bytes) throws(BLEError) in
                var reader = ValueReader(bytes)
                let raw = try reader.uint8()
                guard let value = Value(rawValue: raw) else {
                    throw BLEError(.invalidValue, "\(raw) is no \(Value.self)")
                }
                return value
            },
            encode: { [$0.rawValue] })
    }
}

/// What a heart rate sensor measured (Heart Rate Service 1.0, section 3.1).
public struct HeartRateMeasurement: Hashable, Sendable {
    /// Beats per minute, 0 to 65535.
    public var beatsPerMinute: Int
    /// Whether the sensor touches the skin; nil when it cannot tell.
    public var contact: Bool?
    /// Energy expended since the last reset in kilojoules, 0 to 65535; nil when it was not sent. 65535 means at least that.
    public var energyExpended: Int?
    /// The times between beats in seconds, oldest first, with a resolution of 1/1024 s.
    public var rrIntervals: [Double]

    /// A measurement.
    public init(beatsPerMinute: Int, contact: Bool? = nil, energyExpended: Int? = nil, rrIntervals: [Double] = []) {
        self.beatsPerMinute = beatsPerMinute
        self.contact = contact
        self.energyExpended = energyExpended
        self.rrIntervals = rrIntervals
    }

    /// The measurement that the bytes spell: a flag byte, the rate as one or two bytes, then what the flags announce, all
    /// little-endian. Throws `invalidValue` when the bytes end early or in the middle of an interval.
    public init(bytes: [UInt8]) throws(BLEError) {
        var reader = ValueReader(bytes)
        let flags = try reader.uint8()
        beatsPerMinute = flags & 0x01 == 0 ? Int(try reader.uint8()) : Int(try reader.uint16())
        contact = flags & 0x04 == 0 ? nil : flags & 0x02 != 0
        energyExpended = flags & 0x08 == 0 ? nil : Int(try reader.uint16())
        rrIntervals = []
        guard flags & 0x10 != 0 else { return }
        while reader.remaining > 0 { rrIntervals.append(Double(try reader.uint16()) / 1024) }
    }
}

/// The Heart Rate profile on a peripheral.
public struct HeartRate: Sendable {
    /// The sensor.
    public let peripheral: Peripheral

    /// The profile on `peripheral`. Nothing is sent yet.
    public init(_ peripheral: Peripheral) {
        self.peripheral = peripheral
    }

    /// The measurements from now on. Connects, discovers and subscribes as needed. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<HeartRateMeasurement> {
        try await peripheral.notifications(.heartRateMeasurement)
    }

    /// Where the sensor is worn; `characteristicNotFound` when it does not say.
    public func bodySensorLocation() async throws(BLEError) -> BodySensorLocation {
        try await peripheral.read(.bodySensorLocation)
    }

    /// Sets the energy expended back to zero; `characteristicNotFound` when the sensor does not count it.
    public func resetEnergyExpended() async throws(BLEError) {
        try await peripheral.write(0x01, to: .heartRateControlPoint)
    }
}
