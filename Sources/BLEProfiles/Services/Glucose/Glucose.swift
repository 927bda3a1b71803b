public import BLE

extension BluetoothUUID {
    /// The Glucose service.
    public static let glucose = BluetoothUUID(0x1808)
}

/// The Glucose service of a meter that stores what it measures (Glucose Service 1.0.1).
///
/// ```swift
/// for record in try await Glucose(meter).records() {
///     print(record.measurement.userFacingTime ?? "?", record.measurement.sample?.milligramsPerDeciliter ?? .nan)
/// }
/// ```
public struct Glucose: Profile {
    /// 0x1808.
    public static let serviceUUID = BluetoothUUID.glucose
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Such records with their contexts, oldest first; none where there are none.
    ///
    /// Subscribes to both for as long as it takes; see ``RecordAccessControlPoint/records(_:of:timeout:)`` for the rules. A context without
    /// its record is left out; of several with one number the last counts.
    ///
    /// - Parameters:
    ///   - timeout: the longest wait for the next record, or for the answer after the last.
    ///   - malformed: told of each record and context that cannot be decoded; nil to end the transfer there.
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

    /// How many such records there are.
    public func recordCount(_ selection: RecordSelection = .all) async throws(BLEError) -> Int {
        try await recordAccess.recordCount(selection)
    }

    /// Deletes such records, for good. Throws `procedureFailed` with a ``RecordAccessResult`` when the meter does not.
    public func deleteRecords(_ selection: RecordSelection) async throws(BLEError) {
        try await recordAccess.delete(selection)
    }

    /// The records that the meter sends from now on, to whoever asks for them. Keeps the newest 256 that are not read yet.
    public func measurements() async throws(BLEError) -> NotificationStream<GlucoseMeasurement> {
        try await service.notifications(.glucoseMeasurement)
    }

    /// The contexts that the meter sends from now on, each after its record; `characteristicNotFound` when it knows none.
    public func measurementContexts() async throws(BLEError) -> NotificationStream<GlucoseMeasurementContext> {
        try await service.notifications(.glucoseMeasurementContext)
    }

    /// What the meter can tell.
    public func feature() async throws(BLEError) -> GlucoseFeature {
        try await service.read(.glucoseFeature)
    }

    /// Its record access control point.
    public var recordAccess: RecordAccessControlPoint { RecordAccessControlPoint(of: service) }
}

/// What a glucose meter has stored under one number.
public struct GlucoseRecord: Hashable, Sendable {
    /// What it measured.
    public var measurement: GlucoseMeasurement
    /// What a person noted with it; nil when nothing was sent.
    public var context: GlucoseMeasurementContext?

    /// A record.
    public init(_ measurement: GlucoseMeasurement, context: GlucoseMeasurementContext? = nil) {
        self.measurement = measurement
        self.context = context
    }
}

extension Characteristic where Value == GlucoseMeasurement {
    /// A record, notified when it is asked for (section 3.1).
    public static var glucoseMeasurement: Self { Characteristic(BluetoothUUID(0x2A18), service: .glucose) }
}

extension Characteristic where Value == GlucoseMeasurementContext {
    /// What a person noted with a record, notified after it (section 3.2).
    public static var glucoseMeasurementContext: Self { Characteristic(BluetoothUUID(0x2A34), service: .glucose) }
}

extension Characteristic where Value == GlucoseFeature {
    /// What the meter can tell (section 3.3).
    public static var glucoseFeature: Self { Characteristic(BluetoothUUID(0x2A51), service: .glucose) }
}

/// What a glucose meter can tell (section 3.3).
public struct GlucoseFeature: OptionSet, Hashable, ValueCodable {
    /// The bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// That the battery was low during a measurement.
    public static let lowBatteryDetection = GlucoseFeature(rawValue: 0x0001)
    /// That the sensor does not work.
    public static let sensorMalfunctionDetection = GlucoseFeature(rawValue: 0x0002)
    /// That a sample is too small.
    public static let sampleSizeDetection = GlucoseFeature(rawValue: 0x0004)
    /// That a strip is not put in as it should.
    public static let stripInsertionErrorDetection = GlucoseFeature(rawValue: 0x0008)
    /// That a strip is not for this meter.
    public static let stripTypeErrorDetection = GlucoseFeature(rawValue: 0x0010)
    /// That a result is more or less than it can tell.
    public static let resultHighLowDetection = GlucoseFeature(rawValue: 0x0020)
    /// That it is too warm or too cold.
    public static let temperatureHighLowDetection = GlucoseFeature(rawValue: 0x0040)
    /// That a measurement was interrupted.
    public static let readInterruptDetection = GlucoseFeature(rawValue: 0x0080)
    /// That something else is wrong.
    public static let generalDeviceFault = GlucoseFeature(rawValue: 0x0100)
    /// That its clock is wrong.
    public static let timeFault = GlucoseFeature(rawValue: 0x0200)
    /// It has several bonds at a time.
    public static let multipleBonds = GlucoseFeature(rawValue: 0x0400)
}

extension GlucoseFeature: NamedConstants {
    static let names = bits(
        "lowBatteryDetection", "sensorMalfunctionDetection", "sampleSizeDetection", "stripInsertionErrorDetection",
        "stripTypeErrorDetection", "resultHighLowDetection", "temperatureHighLowDetection", "readInterruptDetection",
        "generalDeviceFault", "timeFault", "multipleBonds")
}
