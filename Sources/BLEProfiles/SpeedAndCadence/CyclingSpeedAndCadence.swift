public import BLE

extension BluetoothUUID {
    /// The Cycling Speed and Cadence service.
    public static let cyclingSpeedAndCadence = BluetoothUUID(0x1816)
}

/// The Cycling Speed and Cadence service of a sensor (Cycling Speed and Cadence Service 1.0).
///
/// The sensor counts revolutions. Speed and cadence are calculated from two measurements:
///
/// ```swift
/// var last: CSCMeasurement?
/// for try await measurement in try await CyclingSpeedAndCadence(peripheral).measurements() {
///     if let last, let speed = measurement.speedMetersPerSecond(since: last, wheelCircumferenceMeters: 2.105) {
///         print(speed * 3.6, "km/h")
///     }
///     last = measurement
/// }
/// ```
public struct CyclingSpeedAndCadence: Profile {
    /// 0x1816.
    public static let serviceUUID = BluetoothUUID.cyclingSpeedAndCadence
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the measurements from now on, about one per second. Keeps the newest 256 unread measurements.
    public func measurements() async throws(BLEError) -> NotificationStream<CSCMeasurement> {
        try await service.notifications(.cscMeasurement)
    }

    /// Returns the features of the sensor.
    public func feature() async throws(BLEError) -> CSCFeature {
        try await service.read(.cscFeature)
    }

    /// Returns the location of the sensor. Nil if the sensor lacks the characteristic.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The control point. The methods below perform its procedures.
    public var controlPoint: SCControlPoint { SCControlPoint(of: service) }

    /// Sets the number of wheel revolutions. Throws the errors of ``SCControlPoint``.
    public func setWheelRevolutions(_ count: UInt32) async throws(BLEError) {
        try await controlPoint.setCumulativeValue(count)
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

extension Characteristic where Value == CSCMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var cscMeasurement: Self { Characteristic(BluetoothUUID(0x2A5B), service: .cyclingSpeedAndCadence) }
}

extension Characteristic where Value == CSCFeature {
    /// The features of the sensor (section 3.2).
    public static var cscFeature: Self { Characteristic(BluetoothUUID(0x2A5C), service: .cyclingSpeedAndCadence) }
}

/// A measurement of a sensor, with cumulative counts (section 3.1).
public struct CSCMeasurement: Hashable, Codable, ValueCodable {
    /// The wheel revolutions. Nil if not sent.
    public var wheelRevolutions: Revolutions?
    /// The crank revolutions. Nil if not sent.
    public var crankRevolutions: Revolutions?

    /// Creates a measurement.
    public init(wheelRevolutions: Revolutions? = nil, crankRevolutions: Revolutions? = nil) {
        self.wheelRevolutions = wheelRevolutions
        self.crankRevolutions = crankRevolutions
    }

    /// Decodes a flag byte, and the fields that it announces. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        wheelRevolutions = flags & 0x01 != 0 ? try Revolutions(from: &reader, .wheel) : nil
        crankRevolutions = flags & 0x02 != 0 ? try Revolutions(from: &reader, .crank) : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((wheelRevolutions == nil ? 0 : 0x01) | (crankRevolutions == nil ? 0 : 0x02))
        try wheelRevolutions?.encode(into: &writer, .wheel)
        try crankRevolutions?.encode(into: &writer, .crank)
    }

    /// True, since reserved flags may announce further fields (section 3.1.1.1).
    public static var ignoresTrailingBytes: Bool { true }
}

extension CSCMeasurement: RevolutionMeasurement {
    static var wheelFormat: Revolutions.Format { .wheel }

    /// Returns the mean speed in meters per second since a measurement made less than 64 s earlier.
    ///
    /// Nil if the time of the last revolution is the same in both measurements, such as when the wheel is stopped or
    /// slow; if the count decreased, because it was set or the wheel rolled back; or if either measurement has no wheel
    /// revolutions. 0 if the time changed but the count did not. Handles wraparound of the count.
    ///
    /// A sensor repeats its values until the next revolution is complete. Keep showing the last speed, and show 0 after
    /// about 3 s of nil.
    public func speedMetersPerSecond(since earlier: CSCMeasurement, wheelCircumferenceMeters: Double) -> Double? {
        speed(since: earlier, wheelCircumferenceMeters: wheelCircumferenceMeters)
    }

    /// Returns the mean cadence in revolutions per minute since a measurement made less than 64 s earlier. Nil under
    /// the same conditions as the speed, applied to the crank.
    public func cadencePerMinute(since earlier: CSCMeasurement) -> Double? {
        cadence(since: earlier)
    }
}

/// The features of a cycling speed and cadence sensor (section 3.2).
public struct CSCFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits, including reserved ones.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The sensor counts wheel revolutions, and its count can be set.
    public static let wheelRevolutions = CSCFeature(rawValue: 0x01)
    /// The sensor counts crank revolutions.
    public static let crankRevolutions = CSCFeature(rawValue: 0x02)
    /// The sensor supports more than one location.
    public static let multipleSensorLocations = CSCFeature(rawValue: 0x04)
}

extension CSCFeature: NamedConstants {
    static let names = bits("wheelRevolutions", "crankRevolutions", "multipleSensorLocations")
}
