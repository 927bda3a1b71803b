import BLE
import BLESimulation
import BLETesting

/// A simulated adapter with faults of its own.
actor StubbornBackend: CentralBackend {
    struct Faults: Sendable {
        /// The number of calls to power it on that fail.
        var powerFailures = 0
        /// The number of scans that end before the call that starts them returns, and that of all calls.
        var endedScans = 0
        var scans = 0
        /// The errors of its next starts, and the number of all starts.
        var startFailures: [BLEError] = []
        var starts = 0
        /// Whether its start does not return for 77,777 s.
        var isMute = false
        /// Whether it cannot be powered on and off, and whether it cannot be asked for adapters.
        var isUnswitched = false
        var isLost = false
        /// Why its stack does not return.
        var stackObstacle: BLEError?
    }

    let faults: SharedValue<Faults>
    private let base: SimulatedBackend
    private var context: CentralContext?

    nonisolated var unownedExecutor: UnownedSerialExecutor { base.unownedExecutor }
    nonisolated var clock: any Clock<Duration> { base.clock }
    nonisolated var taskExecutor: (any TaskExecutor)? { base.taskExecutor }
    nonisolated var isCurrent: Bool { base.isCurrent }

    init(_ base: SimulatedBackend, _ faults: SharedValue<Faults>) { (self.base, self.faults) = (base, faults) }

    /// Takes one of the faults of a kind. Returns false if there is none left.
    private func take(_ kind: any WritableKeyPath<Faults, Int> & Sendable) -> Bool {
        faults.change { faults in
            guard faults[keyPath: kind] > 0 else { return false }
            faults[keyPath: kind] -= 1
            return true
        }
    }

    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        if faults.value.isUnswitched { throw BLEError(.notSupported, "no switch") }
        if isPowered, take(\.powerFailures) { throw BLEError(.failed, "not now") }
        try await base.setPowered(isPowered, adapter: adapter)
    }

    func start(_ context: CentralContext) async throws(BLEError) {
        self.context = context
        if faults.value.isMute {
            do { try await context.clock.sleep(for: .seconds(77_777)) } catch { throw .cancelled }
        }
        let failure: BLEError? = faults.change { faults in
            faults.starts += 1
            return faults.startFailures.isEmpty ? nil : faults.startFailures.removeFirst()
        }
        if let failure { throw failure }
        try await base.start(context)
    }
    func shutDown() async { await base.shutDown() }
    func stackObstacle() -> BLEError? { faults.value.stackObstacle }
    func emit(_ event: CentralBackendEvent) { context?.handleEvent(event) }
    func adapterState() -> AdapterState { base.assumeIsolated { $0.adapterState() } }
    func adapters() async throws(BLEError) -> [Adapter] {
        if faults.value.isLost { throw BLEError(.bluetoothLost, "it cannot be asked") }
        return try await base.adapters()
    }
    func knownPeripherals() -> [KnownPeripheral] { base.assumeIsolated { $0.knownPeripherals() } }
    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        faults.change { $0.scans += 1 }
        try await base.startDiscovery(filter)
        guard take(\.endedScans) else { return }
        try await base.stopDiscovery()
        context?.handleEvent(.scanEnded(BLEError(.failed, "the scan has ended")))
    }
    func stopDiscovery() async throws(BLEError) { try await base.stopDiscovery() }
    func connect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await base.connect(peripheral) }
    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await base.disconnect(peripheral) }
    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await base.discoverServices(peripheral)
    }
    func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        base.assumeIsolated { $0.start(operation, on: attribute, completion: completion) }
    }
    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) { try await base.startNotifications(of: characteristic, deliver: deliver) }
    func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        try await base.stopNotifications(of: characteristic)
    }
}
