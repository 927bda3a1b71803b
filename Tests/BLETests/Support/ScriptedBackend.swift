import BLE
import BLESimulation
import Logging
import Synchronization
import Waiting

/// A backend that gives the answers of a test, and records its calls.
actor ScriptedBackend: CentralBackend {
    /// The operations of a backend.
    enum Operation: Hashable {
        case start, shutDown, adapters, setPowered, setAlias, startDiscovery, stopDiscovery, connect, disconnect,
            discoverServices
        case read, write, readDescriptor, writeDescriptor, startNotifications, stopNotifications
        case attMTU, signalStrength, systemProperties, acquireNotifications, acquireWriting, openChannel
        case pair, unpair, pairingState, set
    }

    /// The recorded calls.
    enum Call: Hashable {
        case start, shutDown, adapters, stopDiscovery
        case setPowered(Bool, String?)
        case setAlias(String, String?)
        case startDiscovery(DiscoveryFilter)
        case connect(Peripheral.ID)
        case disconnect(Peripheral.ID)
        case discoverServices(Peripheral.ID)
        case read(UInt16)
        case write([UInt8], UInt16)
        case readDescriptor(UInt16)
        case writeDescriptor([UInt8], UInt16)
        case startNotifications(UInt16)
        case stopNotifications(UInt16)
        case attMTU(Peripheral.ID)
        case signalStrength(Peripheral.ID)
        case systemProperties(Peripheral.ID)
        case acquireNotifications(UInt16)
        case acquireWriting(UInt16)
        case openChannel(PSM)
        case pair(Peripheral.ID)
        case unpair(Peripheral.ID)
        case pairingState(Peripheral.ID)
        case set(PeripheralSetting, Bool)

        var operation: Operation {
            switch self {
            case .start: .start
            case .shutDown: .shutDown
            case .adapters: .adapters
            case .setPowered: .setPowered
            case .setAlias: .setAlias
            case .startDiscovery: .startDiscovery
            case .stopDiscovery: .stopDiscovery
            case .connect: .connect
            case .disconnect: .disconnect
            case .discoverServices: .discoverServices
            case .read: .read
            case .write: .write
            case .readDescriptor: .readDescriptor
            case .writeDescriptor: .writeDescriptor
            case .startNotifications: .startNotifications
            case .stopNotifications: .stopNotifications
            case .attMTU: .attMTU
            case .signalStrength: .signalStrength
            case .acquireNotifications: .acquireNotifications
            case .systemProperties: .systemProperties
            case .acquireWriting: .acquireWriting
            case .openChannel: .openChannel
            case .pair: .pair
            case .unpair: .unpair
            case .pairingState: .pairingState
            case .set: .set
            }
        }
    }

    /// The answer to a call.
    enum Behavior {
        case succeed
        case fail(BLEError)
        /// Once it is released, or with `cancelled` when it is cancelled.
        case hold
        /// Once it is released; cancellation has no effect.
        case ignore
    }

    private(set) var calls: [Call] = []
    private var script: [Operation: [Behavior]] = [:]
    private var held: [(operation: Operation, outcome: Outcome<Void>)] = []
    private var observers: [(operation: Operation, count: Int, outcome: Outcome<Void>)] = []
    private var handle: (@Sendable (CentralBackendEvent) -> Void)?
    private var deliveries: [UInt16: @Sendable ([UInt8]) -> Void] = [:]
    private var state = AdapterState.poweredOn
    private var obstacle: BLEError?
    private var values: [UInt16: [UInt8]] = [:]
    private var attMTU = 247
    private var channels: [UInt16: @Sendable ([UInt8]) -> Bool] = [:]
    private(set) var resumed: [UInt16] = []
    /// The channel that ``acquireWriting(to:)`` and ``openChannel(_:_:to:)`` return.
    let channel = ScriptedChannel()
    private var known: [KnownPeripheral] = []
    private var database = GATTDatabase(services: [])
    private var paired: Set<Peripheral.ID> = []
    /// The agent that it asks while it pairs.
    private(set) var agent = PairingAgent.none

    // MARK: The test's side

    /// The answers to the next calls of an operation, one each; it succeeds when there are none left.
    func script(_ operation: Operation, _ behaviors: Behavior...) {
        script[operation, default: []] += behaviors
    }

    func setPaired(_ peripheral: Peripheral.ID) { paired.insert(peripheral) }
    func set(_ database: GATTDatabase) { self.database = database }
    func set(_ value: [UInt8], of handle: UInt16) { values[handle] = value }
    func set(attMTU: Int) { self.attMTU = attMTU }
    func set(_ known: [KnownPeripheral]) { self.known = known }
    func set(_ state: AdapterState) { self.state = state }
    /// Sets why the stack does not return, and reports that.
    func set(obstacle: BLEError?) {
        self.obstacle = obstacle
        handle?(.radioChanged)
    }
    func set(_ limits: CentralLimits) { allowed.withLock { $0 = limits } }

    private let allowed = Mutex(CentralLimits())
    nonisolated var limits: CentralLimits { allowed.withLock(\.self) }

    /// Returns once an operation has been called that many times, or the test's time is up.
    func asked(_ operation: Operation, _ count: Int = 1) async {
        guard self.count(operation) < count else { return }
        let outcome = Outcome<Void>()
        observers.append((operation, count, outcome))
        try? await outcome.wait()
    }

    func count(_ operation: Operation) -> Int { calls.count { $0.operation == operation } }

    /// The calls of some operations.
    func calls(_ operations: Operation...) -> [Call] { calls.filter { operations.contains($0.operation) } }

    /// The number of calls that are held.
    var heldCount: Int { held.count }

    /// Answers the oldest call of an operation that is held; with the error if one is given.
    func release(_ operation: Operation, _ error: BLEError? = nil) {
        guard let index = held.firstIndex(where: { $0.operation == operation }) else { return }
        held.remove(at: index).outcome.deliver(error.map { .failure($0) } ?? .success(()))
    }

    /// Does something between two steps of the central, which runs on this actor's executor.
    func inOneStep(_ work: @Sendable () -> Void) { work() }

    /// Reports events, with nothing in between.
    func emit(_ events: CentralBackendEvent...) {
        for event in events {
            if case .adapterStateChanged(let state) = event { self.state = state }
            handle?(event)
        }
    }

    /// A value from the peripheral; lost when its notifications are not on.
    func notify(_ value: [UInt8], from handle: UInt16) { deliveries[handle]?(value) }

    /// A value over a channel; whether there is room for more.
    func offer(_ value: [UInt8], from handle: UInt16) -> Bool? { channels[handle]?(value) }

    /// Records a call. Returns its answer.
    private func record(_ call: Call) -> Behavior {
        calls.append(call)
        observers.removeAll { observer in
            guard count(observer.operation) >= observer.count else { return false }
            observer.outcome.deliver(.success(()))
            return true
        }
        let operation = call.operation
        return script[operation]?.isEmpty == false ? script[operation]?.removeFirst() ?? .succeed : .succeed
    }

    private func answer(_ call: Call) async throws(BLEError) {
        let operation = call.operation
        let behavior = record(call)
        let outcome = Outcome<Void>()
        switch behavior {
        case .succeed: return
        case .fail(let error): throw error
        case .hold:
            held.append((operation, outcome))
            try await wait(for: outcome)
        case .ignore:
            held.append((operation, outcome))
            switch await Task(operation: { try await outcome.wait() }).result {
            case .success: return
            case .failure(let error): throw error as? BLEError ?? BLEError(.failed, "\(error)")
            }
        }
    }

    /// Waits until a call that is held is released or cancelled.
    private func wait(for outcome: Outcome<Void>) async throws(BLEError) {
        defer { held.removeAll { $0.outcome === outcome } }
        try await outcome.wait()
    }

    // MARK: The central's side

    func start(_ context: CentralContext) async throws(BLEError) {
        handle = context.handleEvent
        agent = context.pairing
        try await answer(.start)
    }

    func shutDown() async { try? await answer(.shutDown) }

    func adapterState() -> AdapterState { state }
    func stackObstacle() -> BLEError? { obstacle }

    func adapters() async throws(BLEError) -> [Adapter] {
        try await answer(.adapters)
        return [Adapter(id: "hci0", address: "", name: "", isPowered: true, isDiscovering: false)]
    }

    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        try await answer(.setPowered(isPowered, adapter))
    }

    func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        try await answer(.setAlias(alias, adapter))
    }

    func knownPeripherals() -> [KnownPeripheral] { known }

    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) { try await answer(.startDiscovery(filter)) }

    func stopDiscovery() async throws(BLEError) { try await answer(.stopDiscovery) }

    func connect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await answer(.connect(peripheral)) }

    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await answer(.disconnect(peripheral)) }

    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await answer(.discoverServices(peripheral))
        return database
    }

    func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await answer(.attMTU(peripheral))
        return attMTU
    }

    func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        try await answer(.systemProperties(peripheral))
        return ["Address": .text(peripheral.rawValue)]
    }

    func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await answer(.signalStrength(peripheral))
        return -50
    }

    /// Whether it starts operations on attributes without a task.
    private var startsOperations = false
    func startOperations() { startsOperations = true }

    func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let (call, value): (Call, [UInt8]) =
            switch operation {
            case .read(let offset):
                (.read(attribute.handle), Array((values[attribute.handle] ?? []).dropFirst(offset)))
            case .write(let value, _, _): (.write(value, attribute.handle), [])
            case .readDescriptor: (.readDescriptor(attribute.handle), values[attribute.handle] ?? [])
            case .writeDescriptor(let value): (.writeDescriptor(value, attribute.handle), [])
            }
        guard startsOperations else {
            return startTask(completion: completion) { (backend) throws(BLEError) in
                try await backend.answer(call)
                return value
            }
        }
        let outcome = Outcome<Void>()
        let behavior = record(call)
        switch behavior {
        case .succeed: completion(.success(value))
        case .fail(let error): completion(.failure(error))
        case .hold, .ignore:
            held.append((call.operation, outcome))
            Task {
                do throws(BLEError) {
                    try await wait(for: outcome)
                    completion(.success(value))
                } catch {
                    completion(.failure(error))
                }
            }
        }
        if case .ignore = behavior { return {} }
        return { outcome.deliver(.failure(.cancelled)) }
    }

    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        deliveries[characteristic.handle] = deliver
        try await answer(.startNotifications(characteristic.handle))
    }

    func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        deliveries[characteristic.handle] = nil
        try await answer(.stopNotifications(characteristic.handle))
    }

    func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        channels[characteristic.handle] = deliver
        try await answer(.acquireNotifications(characteristic.handle))
    }

    func resumeNotifications(of characteristic: AttributeID) { resumed.append(characteristic.handle) }

    func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
        try await answer(.acquireWriting(characteristic.handle))
        return channel
    }

    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        try await answer(.openChannel(psm))
        return channel
    }

    func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await answer(.pair(peripheral))
        paired.insert(peripheral)
    }

    func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await answer(.unpair(peripheral))
        paired.remove(peripheral)
    }

    func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        try await answer(.pairingState(peripheral))
        return PairingState(
            isPaired: paired.contains(peripheral), isTrusted: false, isBlocked: false, identity: peripheral)
    }

    func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError) {
        try await answer(.set(setting, value))
    }
}
