public import BLE

extension CentralBackend {
    /// A backend that records everything between a central and `backend`.
    ///
    /// ```swift
    /// let recorder = try Recorder(path: "night.jsonl")
    /// let central = try await Central(backend: .recording(.bluez(), to: recorder))
    /// …
    /// await central.shutDown()
    /// try await recorder.close()
    /// ```
    public static func recording<Base: CentralBackend>(
        _ backend: Base, to recorder: Recorder
    ) -> RecordingBackend<Base> where Self == RecordingBackend<Base> {
        RecordingBackend(backend, recorder)
    }
}

/// A backend in the central role that passes everything on to another, and records it.
///
/// It runs on the other's executor.
public actor RecordingBackend<Base: CentralBackend>: CentralBackend {
    private let base: Base
    private var recorder: RecorderLine

    init(_ base: Base, _ recorder: Recorder) {
        self.base = base
        self.recorder = RecorderLine(recorder)
    }

    /// The executor of the recorded backend.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { base.unownedExecutor }
    /// Those of the recorded backend.
    public nonisolated var limits: CentralLimits { base.limits }
    /// That of the recorded backend.
    public nonisolated var clock: any Clock<Duration> { base.clock }
    /// That of the recorded backend.
    public nonisolated var taskExecutor: (any TaskExecutor)? { base.taskExecutor }
    /// Whether the caller runs on the recorded backend's executor.
    public nonisolated var isCurrent: Bool { base.isCurrent }

    // MARK: Stack

    /// Starts the recorded backend, and records what it knows then.
    public func start(_ context: CentralContext) async throws(BLEError) {
        recorder.begin(context.clock, stack: "\(Base.self)")
        let recorder = recorder
        try await recorder.record(RecordedEntry(.start)) { _ throws(BLEError) in
            try await base.start(
                CentralContext(
                    handleEvent: { event in
                        if let entry = RecordedEntry(event) { recorder.event(entry) }
                        context.handleEvent(event)
                    }, logger: context.logger, clock: context.clock, pairing: context.pairing))
        }
        recorder.event(RecordedEntry(.adapterState, text: adapterState().rawValue))
        for known in knownPeripherals() {
            var entry = RecordedEntry(.known, peripheral: known.id)
            entry.advertisement = known.advertisement
            entry.isOn = known.isConnected
            recorder.event(entry)
        }
    }

    /// Records the call and passes it on.
    public func shutDown() async {
        try? await recorder.record(RecordedEntry(.shutDown)) { _ throws(BLEError) in await base.shutDown() }
    }

    /// That of the recorded backend.
    public func adapterState() -> AdapterState { base.assumeIsolated { $0.adapterState() } }

    /// Those of the recorded backend. They are recorded only when it starts: later ones are those of advertisements and
    /// links.
    public func knownPeripherals() -> [KnownPeripheral] { base.assumeIsolated { $0.knownPeripherals() } }

    /// Those of the recorded backend. They are not recorded.
    public func freeSlots() -> Int? { base.assumeIsolated { $0.freeSlots() } }

    /// That of the recorded backend. It is not recorded.
    public func scanObstacle() -> BLEError? { base.assumeIsolated { $0.scanObstacle() } }

    /// That of the recorded backend. It is not recorded.
    public func stackObstacle() -> BLEError? { base.assumeIsolated { $0.stackObstacle() } }

    /// Passes the call on. It is not recorded.
    public func restart() async throws(BLEError) { try await base.restart() }

    /// Records the call and passes it on.
    public func adapters() async throws(BLEError) -> [Adapter] {
        try await recorder.record(RecordedEntry(.adapters), reply: { $1.adapters = $0 }) { _ throws(BLEError) in
            try await base.adapters()
        }
    }

    /// Records the call and passes it on.
    public func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        var entry = RecordedEntry(.setPowered, text: adapter)
        entry.isOn = isPowered
        try await recorder.record(entry) { _ throws(BLEError) in
            try await base.setPowered(isPowered, adapter: adapter)
        }
    }

    /// Records the call and passes it on.
    public func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.setAlias, text: alias)) { _ throws(BLEError) in
            try await base.setAlias(alias, adapter: adapter)
        }
    }

    // MARK: Discovery

    /// Records the call and passes it on.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        var entry = RecordedEntry(.scan)
        entry.filter = filter
        try await recorder.record(entry) { _ throws(BLEError) in try await base.startDiscovery(filter) }
    }

    /// Records the call and passes it on.
    public func stopDiscovery() async throws(BLEError) {
        try await recorder.record(RecordedEntry(.stopScan)) { _ throws(BLEError) in try await base.stopDiscovery() }
    }

    // MARK: Links

    /// Records the call and passes it on.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.connect, peripheral: peripheral)) { _ throws(BLEError) in
            try await base.connect(peripheral)
        }
    }

    /// Records the call and passes it on.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.disconnect, peripheral: peripheral)) { _ throws(BLEError) in
            try await base.disconnect(peripheral)
        }
    }

    /// Records the call and passes it on.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await recorder.record(
            RecordedEntry(.discover, peripheral: peripheral), reply: { $1.services = $0 }
        ) { _ throws(BLEError) in try await base.discoverServices(peripheral) }
    }

    /// Records the call and passes it on.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await recorder.record(
            RecordedEntry(.attMTU, peripheral: peripheral), reply: { $1.number = $0 }
        ) { _ throws(BLEError) in try await base.attMTU(peripheral) }
    }

    /// Records the call and passes it on.
    public func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await recorder.record(
            RecordedEntry(.signalStrength, peripheral: peripheral), reply: { $1.number = $0 }
        ) { _ throws(BLEError) in try await base.signalStrength(peripheral) }
    }

    /// Records the call and passes it on.
    public func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        try await recorder.record(
            RecordedEntry(.systemProperties, peripheral: peripheral),
            reply: { $1.properties = $0.mapValues(\.recorded) }
        ) { _ throws(BLEError) in try await base.systemProperties(peripheral) }
    }

    // MARK: Attributes

    /// Records the operation and passes it on.
    public func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        let call = recorder.call(RecordedEntry(operation: operation, attribute))
        let recorder = recorder
        let cancel = base.assumeIsolated { base in
            base.start(operation, on: attribute) { result in
                switch result {
                case .success(let value): recorder.reply(call) { $0.value = operation.reads ? value : nil }
                case .failure(let error): recorder.reply(call, error)
                }
                completion(result)
            }
        }
        return {
            recorder.cancel(call)
            cancel()
        }
    }

    /// Records the call and its values, and passes it on.
    public func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        let recorder = recorder
        try await recorder.record(RecordedEntry(.subscribe, characteristic)) { _ throws(BLEError) in
            try await base.startNotifications(of: characteristic) { value in
                recorder.event(RecordedEntry(.value, characteristic, value: value))
                deliver(value)
            }
        }
    }

    /// Records the call and its values, and passes it on.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        let recorder = recorder
        try await recorder.record(RecordedEntry(.subscribeSocket, characteristic)) { _ throws(BLEError) in
            try await base.acquireNotifications(of: characteristic) { value in
                recorder.event(RecordedEntry(.value, characteristic, value: value))
                return deliver(value)
            }
        }
    }

    /// Passes the call on.
    public func resumeNotifications(of characteristic: AttributeID) {
        base.assumeIsolated { $0.resumeNotifications(of: characteristic) }
    }

    /// Records the call and passes it on.
    public func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.unsubscribe, characteristic)) { _ throws(BLEError) in
            try await base.stopNotifications(of: characteristic)
        }
    }

    /// Records the call and the packets, and passes it on.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
        try await recorder.record(
            RecordedEntry(.acquireWriting, characteristic), reply: { $1.number = $0.maximumLength }
        ) { call throws(BLEError) in
            RecordingSink(base: try await base.acquireWriting(to: characteristic), recorder: recorder, call: call)
        }
    }

    /// Records the call and the packets, and passes it on.
    public func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        var entry = RecordedEntry(.openChannel, peripheral: peripheral, number: Int(psm.rawValue))
        entry.channel = options
        return try await recorder.record(entry, reply: { $1.number = $0.maximumLength }) { call throws(BLEError) in
            RecordingTransport(
                base: try await base.openChannel(psm, options, to: peripheral), recorder: recorder, call: call,
                peripheral: peripheral)
        }
    }

    // MARK: Pairing

    /// Records the call and passes it on.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.pair, peripheral: peripheral)) { _ throws(BLEError) in
            try await base.pair(peripheral)
        }
    }

    /// Records the call and passes it on.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await recorder.record(RecordedEntry(.unpair, peripheral: peripheral)) { _ throws(BLEError) in
            try await base.unpair(peripheral)
        }
    }

    /// Records the call and passes it on.
    public func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        try await recorder.record(
            RecordedEntry(.pairingState, peripheral: peripheral), reply: { $1.pairing = $0 }
        ) { _ throws(BLEError) in try await base.pairingState(peripheral) }
    }

    /// Records the call and passes it on.
    public func set(
        _ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID
    ) async throws(BLEError) {
        var entry = RecordedEntry(setting == .trusted ? .trust : .block, peripheral: peripheral)
        entry.isOn = value
        try await recorder.record(entry) { _ throws(BLEError) in
            try await base.set(setting, to: value, for: peripheral)
        }
    }
}

extension RecordedEntry {
    fileprivate init(operation: AttributeOperation, _ attribute: AttributeID) {
        switch operation {
        case .read(let offset): self.init(.read, attribute, offset: offset)
        case .write(let value, .withResponse, let offset): self.init(.write, attribute, value: value, offset: offset)
        case .write(let value, .reliable, let offset):
            self.init(.reliableWrite, attribute, value: value, offset: offset)
        case .write(let value, .withoutResponse, let offset):
            self.init(.command, attribute, value: value, offset: offset)
        case .readDescriptor: self.init(.readDescriptor, attribute)
        case .writeDescriptor(let value): self.init(.writeDescriptor, attribute, value: value)
        }
    }

    /// Nil for an event that is not recorded.
    fileprivate init?(_ event: CentralBackendEvent) {
        switch event {
        case .radioChanged: return nil
        case .adapterStateChanged(let state): self.init(.adapterState, text: state.rawValue)
        case .advertisementReceived(let id, let advertisement):
            self.init(.advertisement, peripheral: id)
            self.advertisement = advertisement
        case .scanEnded(let error): self.init(.scanEnded, error: error)
        case .peripheralRemoved(let id): self.init(.removed, peripheral: id)
        case .linkEnded(let id, let error): self.init(.linkEnded, peripheral: id, error: error)
        case .servicesChanged(let id): self.init(.servicesChanged, peripheral: id)
        case .notificationsEnded(let attribute, let error):
            self.init(.notificationsEnded, attribute)
            self.error = error
        case .pairingEnded(let id): self.init(.pairingEnded, peripheral: id)
        case .stackLost(let error): self.init(.stackLost, error: error)
        }
    }
}

extension SystemValue {
    fileprivate var recorded: String {
        if case .text(let text) = self { text } else { "\(self)" }
    }
}

extension AttributeOperation {
    fileprivate var reads: Bool {
        switch self {
        case .read, .readDescriptor: true
        case .write, .writeDescriptor: false
        }
    }
}
