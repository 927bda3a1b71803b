public import BLE

extension BluetoothUUID {
    /// The Running Speed and Cadence service.
    public static let runningSpeedAndCadence = BluetoothUUID(0x1814)
}

/// The Running Speed and Cadence service of a sensor (Running Speed and Cadence Service 1.0).
public struct RunningSpeedAndCadence: Profile {
    /// 0x1814.
    public static let serviceUUID = BluetoothUUID.runningSpeedAndCadence
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, about one a second. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<RSCMeasurement> {
        try await service.notifications(.rscMeasurement)
    }

    /// What the sensor can do.
    public func feature() async throws(BLEError) -> RSCFeature {
        try await service.read(.rscFeature)
    }

    /// Where the sensor sits; nil when it does not say.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The control point, as it is; the methods here are its procedures.
    public var controlPoint: SCControlPoint { SCControlPoint(of: service) }

    /// Sets the total distance in metres, from 0 to 429,496,729.5, to the nearest tenth; `invalidArgument` for others. Throws what
    /// ``SCControlPoint`` says.
    public func setTotalDistance(meters: Double) async throws(BLEError) {
        guard let tenths = UInt32(exactly: (meters * 10).rounded()) else {
            throw BLEError(.invalidArgument, "\(meters) m is no distance that a sensor can count")
        }
        try await controlPoint.setCumulativeValue(tenths)
    }

    /// Starts the sensor's calibration, and returns when it is done. Throws what ``SCControlPoint`` says.
    public func startSensorCalibration() async throws(BLEError) {
        try await controlPoint.startSensorCalibration()
    }

    /// Tells the sensor where it sits. Throws what ``SCControlPoint`` says.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await controlPoint.updateSensorLocation(location)
    }

    /// Where the sensor may be put. Throws what ``SCControlPoint`` says.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await controlPoint.supportedSensorLocations()
    }
}

extension Characteristic where Value == RSCMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var rscMeasurement: Self { Characteristic(BluetoothUUID(0x2A53), service: .runningSpeedAndCadence) }
}

extension Characteristic where Value == RSCFeature {
    /// What the sensor can do (section 3.2).
    public static var rscFeature: Self { Characteristic(BluetoothUUID(0x2A54), service: .runningSpeedAndCadence) }
}

/// What a sensor measured of somebody who runs or walks (section 3.1).
public struct RSCMeasurement: Hashable, ValueCodable {
    /// Metres per second, 0 to 255.996, with a resolution of 1/256 m/s.
    public var speedMetersPerSecond: Double
    /// Steps per minute, 0 to 255; some sensors count those of one foot only.
    public var cadencePerMinute: Int
    /// The length of a stride in metres, 0 to 655.35; nil when it was not sent.
    public var strideLengthMeters: Double?
    /// The distance since the last reset in metres, with a resolution of 0.1 m; nil when it was not sent.
    public var totalDistanceMeters: Double?
    /// Whether it is running; false for walking, and for a sensor that does not tell them apart (``RSCFeature/runningStatus``).
    public var isRunning: Bool

    /// A measurement.
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

    /// A flag byte, speed, cadence, and what the flags announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        speedMetersPerSecond = Double(try reader.uint16()) / 256
        cadencePerMinute = Int(try reader.uint8())
        strideLengthMeters = flags & 0x01 != 0 ? Double(try reader.uint16()) / 100 : nil
        totalDistanceMeters = flags & 0x02 != 0 ? Double(try reader.uint32()) / 10 : nil
        isRunning = flags & 0x04 != 0
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (strideLengthMeters == nil ? 0 : 0x01) | (totalDistanceMeters == nil ? 0 : 0x02) | (isRunning ? 0x04 : 0))
        try writer.rounded(speedMetersPerSecond * 256, .uint16)
        try writer.integer(cadencePerMinute, .uint8)
        if let strideLengthMeters { try writer.rounded(strideLengthMeters * 100, .uint16) }
        if let totalDistanceMeters { try writer.rounded(totalDistanceMeters * 10, .uint32) }
    }

    /// True: reserved flags may announce more one day (section 3.1.1.1).
    public static var ignoresFurtherBytes: Bool { true }
}

/// What a sensor of running speed and cadence can do (section 3.2).
public struct RSCFeature: OptionSet, Hashable, ValueCodable {
    /// The bits; reserved ones are kept.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// It measures the length of a stride.
    public static let strideLength = RSCFeature(rawValue: 0x01)
    /// It measures the total distance, and takes one to go on from.
    public static let totalDistance = RSCFeature(rawValue: 0x02)
    /// It tells running from walking.
    public static let runningStatus = RSCFeature(rawValue: 0x04)
    /// It can be calibrated.
    public static let calibration = RSCFeature(rawValue: 0x08)
    /// It may be put in several places, and is told which.
    public static let multipleSensorLocations = RSCFeature(rawValue: 0x10)
}

extension RSCFeature: NamedConstants {
    static let names = bits("strideLength", "totalDistance", "runningStatus", "calibration", "multipleSensorLocations")
}
