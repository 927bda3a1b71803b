public import BLE

extension BluetoothUUID {
    /// The Glucose service.
    public static let glucose = BluetoothUUID(0x1808)
}

/// The Glucose service of a meter that stores its measurements (Glucose Service 1.0.1).
///
/// ```swift
/// for record in try await Glucose(meter).records() {
///     print(record.measurement.userFacingTime ?? "?", record.measurement.sample?.milligramsPerDeciliter ?? .nan)
/// }
/// ```
public struct Glucose: Profile {
    /// 0x1808.
    public static let serviceUUID = BluetoothUUID.glucose
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the selected records with their contexts, oldest first. Empty if there are none.
    ///
    /// Subscribes to both characteristics for the duration of the transfer; see
    /// ``RecordAccessControlPoint/records(_:of:timeout:malformed:)``. A context without a record is omitted. If several
    /// contexts have the same number, the last is used.
    ///
    /// - Parameters:
    ///   - timeout: the maximum wait for the next record, or for the answer after the last.
    ///   - malformed: called for each record and context that cannot be decoded. Nil to end the transfer.
    public func records(
        _ selection: RecordSelection = .all, timeout: Duration? = nil,
        malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> [GlucoseRecord] {
        let control = recordAccess
        let measurements = try await control.collector(of: .glucoseMeasurement, malformed)
        var collectors: [any RecordCollection] = [measurements]
        var contexts: RecordCollector<GlucoseMeasurementContext>?
        if try await service.characteristic(.glucoseMeasurementContext) != nil {
            let collector = try await control.collector(of: .glucoseMeasurementContext, malformed)
            contexts = collector
            collectors.append(collector)
        }
        try await control.collect(collectors, selection, timeout)
        let byNumber = Dictionary(
            (contexts?.records ?? []).map { ($0.sequenceNumber, $0) }, uniquingKeysWith: { $1 })
        return measurements.records.map { GlucoseRecord($0, context: byNumber[$0.sequenceNumber]) }
    }

    /// Returns the number of selected records.
    public func recordCount(_ selection: RecordSelection = .all) async throws(BLEError) -> Int {
        try await recordAccess.recordCount(selection)
    }

    /// Deletes the selected records permanently. Throws `procedureFailed` with a ``RecordAccessResult`` if this fails.
    public func deleteRecords(_ selection: RecordSelection) async throws(BLEError) {
        try await recordAccess.delete(selection)
    }

    /// Returns the records that the meter sends from now on, for any request. Keeps the newest 256 unread records.
    public func measurements() async throws(BLEError) -> NotificationStream<GlucoseMeasurement> {
        try await service.notifications(.glucoseMeasurement)
    }

    /// Returns the contexts that the meter sends from now on, each after its record. Throws `characteristicNotFound` if
    /// the meter does not support them.
    public func measurementContexts() async throws(BLEError) -> NotificationStream<GlucoseMeasurementContext> {
        try await service.notifications(.glucoseMeasurementContext)
    }

    /// The features of the meter.
    public func feature() async throws(BLEError) -> GlucoseFeature {
        try await service.read(.glucoseFeature)
    }

    /// The record access control point of the service.
    public var recordAccess: RecordAccessControlPoint { RecordAccessControlPoint(of: service) }
}

/// A record of a glucose meter, with its context.
public struct GlucoseRecord: Hashable, Codable, Sendable {
    /// The measurement.
    public var measurement: GlucoseMeasurement
    /// The notes about the measurement. Nil if not sent.
    public var context: GlucoseMeasurementContext?

    /// Creates a record.
    public init(_ measurement: GlucoseMeasurement, context: GlucoseMeasurementContext? = nil) {
        self.measurement = measurement
        self.context = context
    }
}

extension Characteristic where Value == GlucoseMeasurement {
    /// A record, which is notified on request (section 3.1).
    public static var glucoseMeasurement: Self { Characteristic(BluetoothUUID(0x2A18), service: .glucose) }
}

extension Characteristic where Value == GlucoseMeasurementContext {
    /// The context of a record, which is notified after it (section 3.2).
    public static var glucoseMeasurementContext: Self { Characteristic(BluetoothUUID(0x2A34), service: .glucose) }
}

extension Characteristic where Value == GlucoseFeature {
    /// The features of the meter (section 3.3).
    public static var glucoseFeature: Self { Characteristic(BluetoothUUID(0x2A51), service: .glucose) }
}

/// The features of a glucose meter (section 3.3).
public struct GlucoseFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The meter detects a low battery during a measurement.
    public static let lowBatteryDetection = GlucoseFeature(rawValue: 0x0001)
    /// The meter detects a sensor malfunction.
    public static let sensorMalfunctionDetection = GlucoseFeature(rawValue: 0x0002)
    /// The meter detects an insufficient sample size.
    public static let sampleSizeDetection = GlucoseFeature(rawValue: 0x0004)
    /// The meter detects an incorrectly inserted strip.
    public static let stripInsertionErrorDetection = GlucoseFeature(rawValue: 0x0008)
    /// The meter detects a wrong type of strip.
    public static let stripTypeErrorDetection = GlucoseFeature(rawValue: 0x0010)
    /// The meter detects a result out of range.
    public static let resultHighLowDetection = GlucoseFeature(rawValue: 0x0020)
    /// The meter detects a temperature out of range.
    public static let temperatureHighLowDetection = GlucoseFeature(rawValue: 0x0040)
    /// The meter detects an interrupted measurement.
    public static let readInterruptDetection = GlucoseFeature(rawValue: 0x0080)
    /// The meter detects general faults.
    public static let generalDeviceFault = GlucoseFeature(rawValue: 0x0100)
    /// The meter detects a fault of its clock.
    public static let timeFault = GlucoseFeature(rawValue: 0x0200)
    /// Multiple bonds are supported.
    public static let multipleBonds = GlucoseFeature(rawValue: 0x0400)
}

extension GlucoseFeature: NamedConstants {
    static let names = bits(
        "lowBatteryDetection", "sensorMalfunctionDetection", "sampleSizeDetection", "stripInsertionErrorDetection",
        "stripTypeErrorDetection", "resultHighLowDetection", "temperatureHighLowDetection", "readInterruptDetection",
        "generalDeviceFault", "timeFault", "multipleBonds")
}
