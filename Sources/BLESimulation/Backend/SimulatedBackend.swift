public import BLE
internal import Synchronization

extension CentralBackend where Self == SimulatedBackend {
    /// A backend on a simulated radio.
    ///
    /// - Parameter adapter: the central's adapter, such as `hci1`; see ``SimulatedRadio/addAdapter(_:)``. By default,
    ///   the first that is switched on, and another when that is taken out.
    public static func simulated(_ radio: SimulatedRadio, adapter: String? = nil) -> SimulatedBackend {
        SimulatedBackend(radio: radio, adapter: adapter)
    }
}

/// One central's backend on a simulated radio.
///
/// It runs on the radio's executor, as does its central.
public actor SimulatedBackend: CentralBackend {
    let radio: SimulatedRadio
    private let adapter: String?
    private(set) var port = 0
    private let started = Atomic(0)

    /// The address of its central, as peripherals see it if no other central of the adapter has made the link.
    nonisolated var address: DeviceID { SimulatedRadio.central(started.load(ordering: .relaxed)) }

    /// The same as the radio's.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { radio.unownedExecutor }
    /// Whether the caller is a step of the radio.
    public nonisolated var isCurrent: Bool { radio.executor.isCurrent }

    /// Runs tasks among the steps of the radio, so that a value is read without a switch of threads.
    public nonisolated var taskExecutor: (any TaskExecutor)? { radio.tasks }

    init(radio: SimulatedRadio, adapter: String?) {
        self.radio = radio
        self.adapter = adapter
    }

    /// Joins the radio.
    public func start(_ context: CentralContext) async throws(BLEError) {
        port = try await radio.open(context.handleEvent, context.pairing, adapter: adapter)
        started.store(port, ordering: .relaxed)
    }

    /// Leaves the radio.
    public func shutDown() async { await radio.close(port) }

    /// That of its adapter.
    public func adapterState() -> AdapterState {
        let port = port
        return radio.assumeIsolated { $0.adapterState(port) }
    }

    /// Returns the system's adapters on the radio.
    public func adapters() async throws(BLEError) -> [Adapter] { await radio.list(port) }

    /// Changes an adapter; by default, the central's.
    public func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        try await radio.switchAdapter(isPowered, adapter, port)
    }

    /// Changes an adapter; by default, the central's.
    public func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        try await radio.nameAdapter(alias, adapter, port)
    }

    /// Returns the peripherals that this central knows.
    public func knownPeripherals() -> [KnownPeripheral] {
        let port = port
        return radio.assumeIsolated { $0.known(port) }
    }

    /// Starts to receive advertisements.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        if radio.isDisturbed.load(ordering: .relaxed) { _ = try await radio.admit(.scan, at: nil, port) }
        try await radio.setFilter(filter, port)
    }

    /// Stops receiving advertisements.
    public func stopDiscovery() async throws(BLEError) { try await radio.setFilter(nil, port) }

    /// Makes a link to a peripheral as soon as the peripheral advertises.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await perform("connect", .connect, peripheral) { () throws(BLEError) in
            try await radio.connect(peripheral, port)
        }
    }

    /// Ends the link.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await perform("disconnect", .disconnect, peripheral) { () throws(BLEError) in
            await radio.disconnect(peripheral, port)
        }
    }

    /// Ends all links of this central, as the kernel does when bluetoothd is gone. No fault disturbs it.
    package func endLinks() async { await radio.endLinks(of: port) }

    /// Returns the services of the definition.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await perform("discover services", .discover, peripheral) { () throws(BLEError) in
            try await radio.database(peripheral, port)
        }
    }

    /// The limits of bluetoothd, because this backend behaves like bluetoothd.
    public nonisolated var limits: CentralLimits {
        CentralLimits(adapterNameLength: 247, pairingPromptTimeout: .seconds(60))
    }

    /// Returns the ATT MTU of the link, according to the definition.
    public func attMTU(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await radio.attMTU(peripheral, port)
    }

    /// Returns the signal strength that the test has set.
    public func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int {
        try await perform("signal strength", .signalStrength, peripheral) { () throws(BLEError) in
            try await radio.signalStrength(peripheral, port)
        }
    }

    /// Returns some properties, under bluetoothd's names.
    public func systemProperties(_ peripheral: Peripheral.ID) async throws(BLEError) -> [String: SystemValue] {
        try await radio.systemProperties(peripheral, port)
    }

    /// Reads or writes a value of the definition.
    public func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        startTask(completion: completion) { (backend) throws(BLEError) in
            let (radio, port) = (backend.radio, backend.port)
            switch operation {
            case .read(let offset):
                return try await backend.perform("read", .read, attribute, offset: offset) { () throws(BLEError) in
                    try await radio.read(attribute, offset: offset, port)
                }
            case .write(let value, .withoutResponse, let offset) where radio.isDisturbed.load(ordering: .relaxed):
                let (arrives, losesLink) = try await radio.admitCommand(attribute, port)
                guard arrives else { return [] }
                try await backend.perform("write", nil, attribute, offset: offset, writes: value) {
                    () throws(BLEError) in
                    try await radio.write(
                        value, to: attribute, type: .withoutResponse, offset: offset, port, losesLink: losesLink)
                }
            case .write(let value, let type, let offset):
                try await backend.perform("write", .write, attribute, offset: offset, writes: value) {
                    () throws(BLEError) in
                    try await radio.write(value, to: attribute, type: type, offset: offset, port)
                }
            case .readDescriptor:
                return try await backend.perform("read", .read, attribute) { () throws(BLEError) in
                    try await radio.readDescriptor(attribute, port)
                }
            case .writeDescriptor(let value):
                try await backend.perform("write", .write, attribute, writes: value) { () throws(BLEError) in
                    try await radio.writeDescriptor(value, to: attribute, port)
                }
            }
            return []
        }
    }

    /// Starts the definition's subscription handler.
    public func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) {
        try await perform("subscribe", .subscribe, characteristic) { () throws(BLEError) in
            try await radio.subscribe(characteristic, isChannel: false, port) { value in
                deliver(value)
                return true
            }
        }
    }

    /// Starts the definition's subscription handler. Values for which the reader has no room wait in memory.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        try await perform("subscribe", .subscribe, characteristic) { () throws(BLEError) in
            try await radio.subscribe(characteristic, isChannel: true, port, deliver)
        }
    }

    /// Delivers the waiting values.
    public func resumeNotifications(of characteristic: AttributeID) {
        let port = port
        radio.assumeIsolated { $0.resume(characteristic, port) }
    }

    /// Opens a channel in memory.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
        try await perform("acquire writing", nil, characteristic) { () throws(BLEError) in
            try await radio.checkAuthorized()
            return try await radio.acquireWriting(to: characteristic, port)
        }
    }

    /// Opens an L2CAP channel in memory.
    public func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        try await perform("channel \(psm)", nil, peripheral) { () throws(BLEError) in
            try await radio.openChannel(psm, options, to: peripheral, port)
        }
    }

    /// Cancels the definition's subscription handler.
    public func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        try await perform("unsubscribe", nil, characteristic) { () throws(BLEError) in
            await radio.unsubscribe(characteristic, port)
        }
    }

    /// Pairs with the definition's pairing method.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await perform("pair", .pair, peripheral) { () throws(BLEError) in try await radio.pair(peripheral, port) }
    }

    /// Removes the bond and the peripheral.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try await perform("unpair", nil, peripheral) { () throws(BLEError) in
            try await radio.checkAuthorized()
            try await radio.unpair(peripheral, port)
        }
    }

    /// The same as the radio's.
    public func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        try await radio.pairingState(peripheral, port)
    }

    /// Changes a setting of the radio.
    public func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError)
    {
        try await radio.checkAuthorized()
        try await radio.set(setting, value, peripheral, port)
    }
}
