public import BLE

extension BluetoothUUID {
    /// The Running Speed and Cadence service.
    public static let runningSpeedAndCadence = BluetoothUUID(0x1814)
}

/// The Running Speed and Cadence service of a sensor (Running Speed and Cadence Service 1.0).
public struct RunningSpeedAndCadence: Profile {
    /// 0x1814.
    public static let serviceUUID = BluetoothUUID.runningSpeedAndCadence
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, about one per second. Keeps the newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<RSCMeasurement> {
        try await service.notifications(.rscMeasurement)
    }

    /// Returns the features of the sensor.
    public func feature() async throws(BLEError) -> RSCFeature {
        try await service.read(.rscFeature)
    }

    /// Returns the location of the sensor. Nil if the sensor does not have the characteristic.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The control point. The methods of this type perform its procedures.
    public var controlPoint: SCControlPoint { SCControlPoint(of: service) }

    /// Sets the total distance in meters, from 0 to 429,496,729.5, rounded to tenths. Throws `invalidArgument` for
    /// other distances, and the errors of ``SCControlPoint``.
    public func setTotalDistance(meters: Double) async throws(BLEError) {
        guard let tenths = UInt32(exactly: (meters * 10).rounded()) else {
            throw BLEError(.invalidArgument, "\(meters) m are not in the range 0 to 429,496,729.5")
        }
        try await controlPoint.setCumulativeValue(tenths)
    }

    /// Calibrates the sensor, and returns when the calibration is complete. Throws the errors of ``SCControlPoint``.
    public func startSensorCalibration() async throws(BLEError) {
        try await controlPoint.startSensorCalibration()
    }

    /// Sets the location of the sensor. Throws the errors of ``SCControlPoint``.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await controlPoint.updateSensorLocation(location)
    }

    /// Returns the locations that the sensor supports. Throws the errors of ``SCControlPoint``.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await controlPoint.supportedSensorLocations()
    }
}

extension Characteristic where Value == RSCMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var rscMeasurement: Self { Characteristic(BluetoothUUID(0x2A53), service: .runningSpeedAndCadence) }
}

extension Characteristic where Value == RSCFeature {
    /// The features of the sensor (section 3.2).
    public static var rscFeature: Self { Characteristic(BluetoothUUID(0x2A54), service: .runningSpeedAndCadence) }
}

/// A measurement of a running speed and cadence sensor (section 3.1).
public struct RSCMeasurement: Hashable, Codable, ValueCodable {
    /// The speed in meters per second, 0 to 255.996, with a resolution of 1/256 m/s.
    public var speedMetersPerSecond: Double
    /// The cadence in steps per minute, 0 to 255. Some sensors count only the steps of one foot.
    public var cadencePerMinute: Int
    /// The stride length in meters, 0 to 655.35. Nil if not sent.
    public var strideLengthMeters: Double?
    /// The distance since the last reset in meters, with a resolution of 0.1 m. Nil if not sent.
    public var totalDistanceMeters: Double?
    /// Whether the user is running. False while walking, and if the sensor cannot distinguish running from walking
    /// (``RSCFeature/runningStatus``).
    public var isRunning: Bool

    /// Creates a measurement.
    public init(
        speedMetersPerSecond: Double, cadencePerMinute: Int, strideLengthMeters: Double? = nil,
        totalDistanceMeters: Double? = nil, isRunning: Bool = false
    ) {
        self.speedMetersPerSecond = speedMetersPerSecond
        self.cadencePerMinute = cadencePerMinute
        self.strideLengthMeters = strideLengthMeters
        self.totalDistanceMeters = totalDistanceMeters
        self.isRunning = isRunning
    }

    /// Decodes a flag byte, speed, cadence, and the fields that the flags announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        speedMetersPerSecond = Double(try reader.uint16()) / 256
        cadencePerMinute = Int(try reader.uint8())
        strideLengthMeters = flags & 0x01 != 0 ? Double(try reader.uint16()) / 100 : nil
        totalDistanceMeters = flags & 0x02 != 0 ? Double(try reader.uint32()) / 10 : nil
        isRunning = flags & 0x04 != 0
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (strideLengthMeters == nil ? 0 : 0x01) | (totalDistanceMeters == nil ? 0 : 0x02) | (isRunning ? 0x04 : 0))
        try writer.rounded(speedMetersPerSecond * 256, .uint16)
        try writer.integer(cadencePerMinute, .uint8)
        if let strideLengthMeters { try writer.rounded(strideLengthMeters * 100, .uint16) }
        if let totalDistanceMeters { try writer.rounded(totalDistanceMeters * 10, .uint32) }
    }

    /// True, since reserved flags may announce further fields (section 3.1.1.1).
    public static var ignoresTrailingBytes: Bool { true }
}

/// The features of a running speed and cadence sensor (section 3.2).
public struct RSCFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits, including reserved ones.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The sensor measures the stride length.
    public static let strideLength = RSCFeature(rawValue: 0x01)
    /// The sensor measures the total distance, which can be set.
    public static let totalDistance = RSCFeature(rawValue: 0x02)
    /// The sensor distinguishes running from walking.
    public static let runningStatus = RSCFeature(rawValue: 0x04)
    /// The sensor can be calibrated.
    public static let calibration = RSCFeature(rawValue: 0x08)
    /// The location of the sensor can be set to one of several.
    public static let multipleSensorLocations = RSCFeature(rawValue: 0x10)
}

extension RSCFeature: NamedConstants {
    static let names = bits("strideLength", "totalDistance", "runningStatus", "calibration", "multipleSensorLocations")
}
