/// What a stack may lack. A backend implements only what its stack has.
extension CentralBackend {
    /// The continuous clock.
    public nonisolated var clock: any Clock<Duration> { ContinuousClock() }

    /// Nil.
    public nonisolated var taskExecutor: (any TaskExecutor)? { nil }

    /// False.
    public nonisolated var isCurrent: Bool { false }

    /// The defaults of ``BackendLimits``.
    public nonisolated var limits: BackendLimits { BackendLimits() }

    /// Throws `notSupported`.
    public func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        throw .lacking("powering adapters on and off")
    }

    /// Throws `notSupported`.
    public func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        throw .lacking("setting the name of an adapter")
    }

    /// Throws `notSupported`.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        throw .lacking("reading the ATT MTU")
    }

    /// Throws `notSupported`.
    public func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        throw .lacking("reading the signal strength of a link")
    }

    /// Throws `notSupported`.
    public func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        throw .lacking("reading its own properties of a peripheral")
    }

    /// Nil.
    public func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> (@Sendable () -> Void)? { nil }

    /// Throws `notSupported`. The central then delivers the values in the standard way.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        throw .lacking("a channel for notifications")
    }

    /// Does nothing: there is no channel.
    public func resumeNotifications(of characteristic: AttributeID) {}

    /// Throws `notSupported`.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketChannel {
        throw .lacking("a channel for writes")
    }

    /// Throws `notSupported`.
    public func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        throw .lacking("L2CAP channels")
    }

    /// Throws `notSupported`.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        throw .lacking("pairing")
    }

    /// Throws `notSupported`.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        throw .lacking("removing a bond")
    }

    /// Throws `notSupported`.
    public func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        throw .lacking("reading the pairing state")
    }

    /// Throws `notSupported`.
    public func set(
        _ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID
    ) async throws(BLEError) {
        throw .lacking("trusting and blocking peripherals")
    }

    /// Reads a characteristic's whole value.
    public func read(_ characteristic: AttributeID) async throws(BLEError) -> [UInt8] {
        try await read(characteristic, offset: 0)
    }

    /// Writes a characteristic's whole value.
    public func write(_ value: [UInt8], to characteristic: AttributeID, type: WriteType) async throws(BLEError) {
        try await write(value, to: characteristic, type: type, offset: 0)
    }
}

extension BLEError {
    static func lacking(_ operation: String) -> BLEError {
        BLEError(.notSupported, "this Bluetooth stack does not support \(operation)", isRetryable: false)
    }
}
