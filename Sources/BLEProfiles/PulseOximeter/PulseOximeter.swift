public import BLE

extension BluetoothUUID {
    /// The Pulse Oximeter service.
    public static let pulseOximeter = BluetoothUUID(0x1822)
}

/// The Pulse Oximeter service (Pulse Oximeter Service 1.0.1). An oximeter supports spot checks, continuous
/// measurements, or both.
public struct PulseOximeter: Profile {
    /// 0x1822.
    public static let serviceUUID = BluetoothUUID.pulseOximeter
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the spot-check measurements from now on, each of which is confirmed to the oximeter. Throws
    /// `characteristicNotFound` if the oximeter does not support them. Keeps the newest 256 unread measurements.
    public func spotChecks() async throws(BLEError) -> NotificationStream<PLXSpotCheckMeasurement> {
        try await service.notifications(.plxSpotCheckMeasurement)
    }

    /// Returns the continuous measurements from now on. Throws `characteristicNotFound` if the oximeter does not
    /// support them. Keeps the newest 256 unread measurements.
    public func continuousMeasurements() async throws(BLEError) -> NotificationStream<PLXContinuousMeasurement> {
        try await service.notifications(.plxContinuousMeasurement)
    }

    /// Returns the features of the oximeter.
    public func features() async throws(BLEError) -> PLXFeatures {
        try await service.read(.plxFeatures)
    }

    /// Returns the stored spot-check measurements, oldest first. Empty if there are none.
    ///
    /// Measurements that are made during the transfer are included, without
    /// ``PLXMeasurementStatus/dataFromMeasurementStorage``. See
    /// ``RecordAccessControlPoint/records(_:of:timeout:malformed:)`` for the details.
    ///
    /// - Parameter timeout: the maximum wait for the next measurement, or for the answer after the last.
    public func storedSpotChecks(timeout: Duration? = nil) async throws(BLEError) -> [PLXSpotCheckMeasurement] {
        try await recordAccess.records(of: .plxSpotCheckMeasurement, timeout: timeout)
    }

    /// Returns the number of stored spot-check measurements.
    public func storedSpotCheckCount() async throws(BLEError) -> Int {
        try await recordAccess.recordCount()
    }

    /// Deletes all stored spot-check measurements permanently.
    public func deleteStoredSpotChecks() async throws(BLEError) {
        try await recordAccess.delete(.all)
    }

    /// The record access control point, which supports only the selection of all records.
    public var recordAccess: RecordAccessControlPoint { RecordAccessControlPoint(of: service) }
}

extension Characteristic where Value == PLXSpotCheckMeasurement {
    /// A spot-check measurement, which the oximeter indicates (section 3.1).
    public static var plxSpotCheckMeasurement: Self { Characteristic(BluetoothUUID(0x2A5E), service: .pulseOximeter) }
}

extension Characteristic where Value == PLXContinuousMeasurement {
    /// A continuous measurement, which the oximeter notifies (section 3.2).
    public static var plxContinuousMeasurement: Self { Characteristic(BluetoothUUID(0x2A5F), service: .pulseOximeter) }
}

extension Characteristic where Value == PLXFeatures {
    /// The features of the oximeter (section 3.3).
    public static var plxFeatures: Self { Characteristic(BluetoothUUID(0x2A60), service: .pulseOximeter) }
}
