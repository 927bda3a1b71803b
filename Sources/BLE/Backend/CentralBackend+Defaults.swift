internal import Waiting

/// What a stack may lack. A backend implements only what its stack has.
extension CentralBackend {
    /// The continuous clock.
    public nonisolated var clock: any Clock<Duration> { ContinuousClock() }

    /// Nil.
    public nonisolated var taskExecutor: (any TaskExecutor)? { nil }

    /// False.
    public nonisolated var isCurrent: Bool { false }

    /// The defaults of ``CentralLimits``.
    public nonisolated var limits: CentralLimits { CentralLimits() }

    /// Nil.
    public func freeSlots() -> Int? { nil }

    /// Nil.
    public func scanObstacle() -> BLEError? { nil }

    /// Nil.
    public func stackObstacle() -> BLEError? { nil }

    /// Powers the adapter in use off and on.
    public func restart() async throws(BLEError) {
        try await setPowered(false, adapter: nil)
        try await setPowered(true, adapter: nil)
    }

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

    /// Throws `notSupported`. The central then delivers the values in the standard way.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        throw .lacking("a channel for notifications")
    }

    /// Does nothing: there is no channel.
    public func resumeNotifications(of characteristic: AttributeID) {}

    /// Throws `notSupported`.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
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
}

extension CentralBackend {
    /// Starts an operation as a task, which a cancellation cancels. For ``start(_:on:completion:)``.
    ///
    /// - Parameters:
    ///   - completion: called with the result of `work`.
    ///   - work: the operation, in the backend's isolation.
    public func startTask(
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void,
        _ work: @escaping @Sendable (isolated Self) async throws(BLEError) -> [UInt8]
    ) -> @Sendable () -> Void {
        let task = Task(executorPreference: taskExecutor) { await self.run(work, completion) }
        return { task.cancel() }
    }

    private func run(
        _ work: @Sendable (isolated Self) async throws(BLEError) -> [UInt8],
        _ completion: @Sendable (Result<[UInt8], BLEError>) -> Void
    ) async {
        do throws(BLEError) {
            completion(.success(try await work(self)))
        } catch {
            completion(.failure(error))
        }
    }

    /// Performs an operation on an attribute, without a central. Returns what was read; for a write, nothing.
    @discardableResult public func perform(
        _ operation: AttributeOperation, on attribute: AttributeID
    ) async throws(BLEError) -> [UInt8] {
        let outcome = Outcome<[UInt8]>()
        let cancel = start(operation, on: attribute) { outcome.deliver($0) }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            cancel()
            throw error
        }
    }
}

extension BLEError {
    static func lacking(_ operation: String) -> BLEError {
        BLEError(.notSupported, "this Bluetooth stack does not support \(operation)", isRetryable: false)
    }
}
