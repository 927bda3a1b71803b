public import BLE

extension BluetoothUUID {
    /// The Cycling Speed and Cadence service.
    public static let cyclingSpeedAndCadence = BluetoothUUID(0x1816)
}

/// The Cycling Speed and Cadence service of a sensor (Cycling Speed and Cadence Service 1.0).
///
/// The sensor counts revolutions; two measurements are a speed and a cadence:
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
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The measurements from now on, about one a second. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<CSCMeasurement> {
        try await service.notifications(.cscMeasurement)
    }

    /// What the sensor can do.
    public func feature() async throws(BLEError) -> CSCFeature {
        try await service.read(.cscFeature)
    }

    /// Where the sensor sits; nil when it does not say.
    public func sensorLocation() async throws(BLEError) -> SensorLocation? {
        try await service.readIfPresent(.sensorLocation)
    }

    /// The control point, as it is; the methods here are its procedures.
    public var controlPoint: SCControlPoint { SCControlPoint(of: service) }

    /// Sets the number of wheel revolutions. Throws what ``SCControlPoint`` says.
    public func setWheelRevolutions(_ count: UInt32) async throws(BLEError) {
        try await controlPoint.setCumulativeValue(count)
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

extension Characteristic where Value == CSCMeasurement {
    /// A measurement, notified about once a second (section 3.1).
    public static var cscMeasurement: Self { Characteristic(BluetoothUUID(0x2A5B), service: .cyclingSpeedAndCadence) }
}

extension Characteristic where Value == CSCFeature {
    /// What the sensor can do (section 3.2).
    public static var cscFeature: Self { Characteristic(BluetoothUUID(0x2A5C), service: .cyclingSpeedAndCadence) }
}

/// What a sensor counted (section 3.1).
public struct CSCMeasurement: Hashable, ValueCodable {
    /// Revolutions of the wheel; nil when they were not sent.
    public var wheelRevolutions: Revolutions?
    /// Revolutions of the crank; nil when they were not sent.
    public var crankRevolutions: Revolutions?

    /// A measurement.
    public init(wheelRevolutions: Revolutions? = nil, crankRevolutions: Revolutions? = nil) {
        self.wheelRevolutions = wheelRevolutions
        self.crankRevolutions = crankRevolutions
    }

    /// A flag byte and what it announces. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        wheelRevolutions = flags & 0x01 != 0 ? try Revolutions(from: &reader, .wheel) : nil
        crankRevolutions = flags & 0x02 != 0 ? try Revolutions(from: &reader, .crank) : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((wheelRevolutions == nil ? 0 : 0x01) | (crankRevolutions == nil ? 0 : 0x02))
        try wheelRevolutions?.encode(into: &writer, .wheel)
        try crankRevolutions?.encode(into: &writer, .crank)
    }

    /// True: reserved flags may announce more one day (section 3.1.1.1).
    public static var ignoresFurtherBytes: Bool { true }
}

extension CSCMeasurement: RevolutionMeasurement {
    static var wheelFormat: Revolutions.Format { .wheel }

    /// The mean speed in metres per second since an earlier measurement, less than 64 s ago.
    ///
    /// Nil when the time of the last revolution is the same in both, as while the wheel stands still or is slow, when the count went back
    /// (it was set, or the wheel rolled back), and when one of the two has no wheel; 0 when that time has moved and the count has not. The
    /// number of revolutions may have begun again in between.
    ///
    /// A sensor repeats itself until the next revolution is complete: keep what was shown, and go to 0 after about 3 s of nil.
    public func speedMetersPerSecond(since earlier: CSCMeasurement, wheelCircumferenceMeters: Double) -> Double? {
        speed(since: earlier, wheelCircumferenceMeters: wheelCircumferenceMeters)
    }

    /// The mean cadence in revolutions per minute since an earlier measurement, less than 64 s ago; nil under the same
    /// conditions, of the crank.
    public func cadencePerMinute(since earlier: CSCMeasurement) -> Double? {
        cadence(since: earlier)
    }
}

/// What a sensor of cycling speed and cadence can do (section 3.2).
public struct CSCFeature: OptionSet, Hashable, ValueCodable {
    /// The bits; reserved ones are kept.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// It counts revolutions of the wheel, and takes a number to go on from.
    public static let wheelRevolutions = CSCFeature(rawValue: 0x01)
    /// It counts revolutions of the crank.
    public static let crankRevolutions = CSCFeature(rawValue: 0x02)
    /// It may be put in several places, and is told which.
    public static let multipleSensorLocations = CSCFeature(rawValue: 0x04)
}

extension CSCFeature: NamedConstants {
    static let names = bits("wheelRevolutions", "crankRevolutions", "multipleSensorLocations")
}
