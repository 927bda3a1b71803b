public import BLE

extension BluetoothUUID {
    /// The Fitness Machine service.
    public static let fitnessMachine = BluetoothUUID(0x1826)
}

/// The Fitness Machine service of a treadmill, a trainer or a rowing machine (Fitness Machine Service 1.0).
///
/// Each kind of machine has its own type of record. Records that are sent in parts are merged. To control a machine,
/// request its control first:
///
/// ```swift
/// let machine = FitnessMachine(peripheral)
/// let control = try await machine.requestControl()
/// try await control.setTargetPower(watts: 180)
/// for try await record in try await machine.records(of: .indoorBikeData) { print(record.powerWatts ?? 0) }
/// ```
///
/// ``FitnessMachineAdvertisement`` contains the kind of a machine before it is connected. A connected machine has the
/// record characteristic of its kind: `try await machine.service.characteristic(.rowerData) != nil` for a rowing
/// machine.
public struct FitnessMachine: Profile {
    /// 0x1826.
    public static let serviceUUID = BluetoothUUID.fitnessMachine
    /// The service of the peripheral.
    public let service: PeripheralService

    /// Creates a client for the service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// Returns the features of the machine.
    public func feature() async throws(BLEError) -> FitnessMachineFeature {
        try await service.read(.fitnessMachineFeature)
    }

    /// Returns the records of a training from now on, about one per second, for example of `.treadmillData`. Parts of
    /// records are merged.
    ///
    /// Throws `characteristicNotFound` if the machine is of another kind. Keeps the newest 256 unread parts.
    public func records<Record: FitnessMachineRecord>(
        of characteristic: Characteristic<Record>
    ) async throws(BLEError) -> FitnessRecordStream<Record> {
        FitnessRecordStream(try await service.notifications(characteristic))
    }

    /// Returns the status of the training. Nil if the machine does not have the characteristic.
    public func trainingStatus() async throws(BLEError) -> TrainingStatus? {
        try await service.readIfPresent(.trainingStatus)
    }

    /// Returns the status of the training whenever it changes.
    public func trainingStatuses() async throws(BLEError) -> NotificationStream<TrainingStatus> {
        try await service.notifications(.trainingStatus)
    }

    /// Returns the events of the machine from now on, such as actions of its user, changed settings, and the loss of
    /// control.
    public func statuses() async throws(BLEError) -> NotificationStream<FitnessMachineStatus> {
        try await service.notifications(.fitnessMachineStatus)
    }

    /// Returns the supported speeds. Nil if the machine does not have the characteristic.
    public func supportedSpeeds() async throws(BLEError) -> SupportedSpeedRange? {
        try await service.readIfPresent(.supportedSpeedRange)
    }

    /// Returns the supported inclinations. Nil if the machine does not have the characteristic.
    public func supportedInclinations() async throws(BLEError) -> SupportedInclinationRange? {
        try await service.readIfPresent(.supportedInclinationRange)
    }

    /// Returns the supported resistance levels. Nil if the machine does not have the characteristic.
    public func supportedResistanceLevels() async throws(BLEError) -> SupportedResistanceLevelRange? {
        try await service.readIfPresent(.supportedResistanceLevelRange)
    }

    /// Returns the supported heart rates. Nil if the machine does not have the characteristic.
    public func supportedHeartRates() async throws(BLEError) -> SupportedHeartRateRange? {
        try await service.readIfPresent(.supportedHeartRateRange)
    }

    /// Returns the supported powers. Nil if the machine does not have the characteristic.
    public func supportedPowers() async throws(BLEError) -> SupportedPowerRange? {
        try await service.readIfPresent(.supportedPowerRange)
    }

    /// Requests control of the machine, which all other procedures require (section 4.16.2.1).
    ///
    /// The machine reports a loss of control with ``FitnessMachineStatus/controlPermissionLost``, and may also end
    /// control when the link ends. In both cases, request it again. Throws the errors of ``FitnessMachineControl``.
    public func requestControl() async throws(BLEError) -> FitnessMachineControl {
        let control = FitnessMachineControl(of: service)
        try await control.request()
        return control
    }
}
