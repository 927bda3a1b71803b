public import BLE

extension BluetoothUUID {
    /// The Pulse Oximeter service.
    public static let pulseOximeter = BluetoothUUID(0x1822)
}

/// The Pulse Oximeter service (Pulse Oximeter Service 1.0.1). An oximeter measures once, or continuously, or both.
public struct PulseOximeter: Profile {
    /// 0x1822.
    public static let serviceUUID = BluetoothUUID.pulseOximeter
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// The single measurements from now on, each confirmed to the oximeter; `characteristicNotFound` when it makes none. Keeps the newest
    /// 256 that are not read yet.
    public func spotChecks() async throws(BLEError) -> NotificationStream<PLXSpotCheckMeasurement> {
        try await service.notifications(.plxSpotCheckMeasurement)
    }

    /// What it measures continuously, from now on; `characteristicNotFound` when it does not. Keeps the newest 256 that are not read yet.
    public func continuousMeasurements() async throws(BLEError) -> NotificationStream<PLXContinuousMeasurement> {
        try await service.notifications(.plxContinuousMeasurement)
    }

    /// What the oximeter can tell.
    public func features() async throws(BLEError) -> PLXFeatures {
        try await service.read(.plxFeatures)
    }

    /// The single measurements that the oximeter has stored, oldest first; none where there are none.
    ///
    /// What it measures while it sends them is among them, without ``PLXMeasurementStatus/dataFromMeasurementStorage``. See
    /// ``RecordAccessControlPoint/records(_:of:timeout:)`` for the rules.
    ///
    /// - Parameter timeout: the longest wait for the next measurement, or for the answer after the last.
    public func storedSpotChecks(timeout: Duration? = nil) async throws(BLEError) -> [PLXSpotCheckMeasurement] {
        try await recordAccess.records(of: .plxSpotCheckMeasurement, timeout: timeout)
    }

    /// How many single measurements the oximeter has stored.
    public func storedSpotCheckCount() async throws(BLEError) -> Int {
        try await recordAccess.recordCount()
    }

    /// Deletes all single measurements that the oximeter has stored, for good.
    public func deleteStoredSpotChecks() async throws(BLEError) {
        try await recordAccess.delete(.all)
    }

    /// Its record access control point, which knows no selection but all records.
    public var recordAccess: RecordAccessControlPoint { RecordAccessControlPoint(of: service) }
}

extension Characteristic where Value == PLXSpotCheckMeasurement {
    /// A single measurement, indicated (section 3.1).
    public static var plxSpotCheckMeasurement: Self { Characteristic(BluetoothUUID(0x2A5E), service: .pulseOximeter) }
}

extension Characteristic where Value == PLXContinuousMeasurement {
    /// One of continuous measurements, notified (section 3.2).
    public static var plxContinuousMeasurement: Self { Characteristic(BluetoothUUID(0x2A5F), service: .pulseOximeter) }
}

extension Characteristic where Value == PLXFeatures {
    /// What the oximeter can tell (section 3.3).
    public static var plxFeatures: Self { Characteristic(BluetoothUUID(0x2A60), service: .pulseOximeter) }
}
