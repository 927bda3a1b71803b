public import BLE

extension BluetoothUUID {
    /// The Fitness Machine service.
    public static let fitnessMachine = BluetoothUUID(0x1826)
}

/// The Fitness Machine service of a treadmill, a trainer, a rowing machine and the like (Fitness Machine Service 1.0).
///
/// Records come as the machine's kind has them, whole even when a machine sends them in parts. A machine is told what to do by
/// one who has asked for its control:
///
/// ```swift
/// let machine = FitnessMachine(peripheral)
/// let control = try await machine.requestControl()
/// try await control.setTargetPower(watts: 180)
/// for try await record in try await machine.records(of: .indoorBikeData) { print(record.powerWatts ?? 0) }
/// ```
///
/// ``FitnessMachineAdvertisement`` tells the kind of a machine before it is connected. A connected one has the record of its kind:
/// `try await machine.service.characteristic(.rowerData) != nil` for a rowing machine.
public struct FitnessMachine: Profile {
    /// 0x1826.
    public static let serviceUUID = BluetoothUUID.fitnessMachine
    /// The service that is spoken to.
    public let service: PeripheralService

    /// Speaks to a service. Nothing is sent yet.
    public init(service: PeripheralService) {
        self.service = service
    }

    /// What the machine can do.
    public func feature() async throws(BLEError) -> FitnessMachineFeature {
        try await service.read(.fitnessMachineFeature)
    }

    /// The records of a training from now on, about one a second, such as of `.treadmillData`; their parts are put together.
    ///
    /// Throws `characteristicNotFound` for a machine of another kind. Keeps the newest 256 parts that are not read yet.
    public func records<Record: FitnessMachineRecord>(
        of characteristic: Characteristic<Record>
    ) async throws(BLEError) -> FitnessRecordStream<Record> {
        FitnessRecordStream(try await service.notifications(characteristic))
    }

    /// What the training is doing; nil when the machine does not say.
    public func trainingStatus() async throws(BLEError) -> TrainingStatus? {
        try await service.readIfPresent(.trainingStatus)
    }

    /// What the training is doing, whenever that changes.
    public func trainingStatuses() async throws(BLEError) -> NotificationStream<TrainingStatus> {
        try await service.notifications(.trainingStatus)
    }

    /// What has happened to the machine, from now on: what its user did, what it was told, that control was lost.
    public func statuses() async throws(BLEError) -> NotificationStream<FitnessMachineStatus> {
        try await service.notifications(.fitnessMachineStatus)
    }

    /// The speeds that the machine can keep; nil when it does not say.
    public func supportedSpeeds() async throws(BLEError) -> SupportedSpeedRange? {
        try await service.readIfPresent(.supportedSpeedRange)
    }

    /// The inclinations that the machine can take; nil when it does not say.
    public func supportedInclinations() async throws(BLEError) -> SupportedInclinationRange? {
        try await service.readIfPresent(.supportedInclinationRange)
    }

    /// The resistance levels that the machine can take; nil when it does not say.
    public func supportedResistanceLevels() async throws(BLEError) -> SupportedResistanceLevelRange? {
        try await service.readIfPresent(.supportedResistanceLevelRange)
    }

    /// The heart rates that the machine can keep its user at; nil when it does not say.
    public func supportedHeartRates() async throws(BLEError) -> SupportedHeartRateRange? {
        try await service.readIfPresent(.supportedHeartRateRange)
    }

    /// The powers that the machine can keep; nil when it does not say.
    public func supportedPowers() async throws(BLEError) -> SupportedPowerRange? {
        try await service.readIfPresent(.supportedPowerRange)
    }

    /// Asks for the control of the machine, without which it does nothing that it is told (section 4.16.2.1).
    ///
    /// The machine says with ``FitnessMachineStatus/controlPermissionLost`` that control is lost, and may let go of it when the link
    /// ends; then ask again. Throws what ``FitnessMachineControl`` says.
    public func requestControl() async throws(BLEError) -> FitnessMachineControl {
        let control = FitnessMachineControl(of: service)
        try await control.request()
        return control
    }
}
