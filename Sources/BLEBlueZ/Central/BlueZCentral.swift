public import BLE
internal import Logging
internal import Loop
internal import Waiting

/// The central role with bluetoothd.
///
/// Uses a `BlueZStack`, which owns the bus session and bluetoothd's objects, and runs on the stack's executor, which is
/// therefore also the central's.
public actor BlueZCentral: CentralBackend, BlueZRole {
    package nonisolated let stack: BlueZStack
    /// The executor of the stack's loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// Whether the caller runs on the stack's loop.
    public nonisolated var isCurrent: Bool { stack.loop.isCurrent }

    /// The limits of bluetoothd: it silently shortens an adapter's name to 247 bytes, and waits 60 s for an agent's
    /// answer (`REQUEST_TIMEOUT` in its `src/agent.c`). It does not report whether a peripheral accepts connections.
    public nonisolated var limits: CentralLimits {
        CentralLimits(adapterNameLength: 247, pairingPromptTimeout: .seconds(60), reportsConnectability: false)
    }

    private var context: CentralContext?
    /// This role's number with the stack, from the start until the shutdown.
    private(set) var role: Int?
    private(set) var isShutDown = false
    private(set) var agent: BlueZAgent?
    /// The agents of the central's radios on this bus.
    nonisolated let agents: BlueZAgents
    private(set) lazy var passive = PassiveScanner(stack, clock: configuredClock) { [weak self] event in
        self?.enter { $0.handle(event) }
    }
    /// Opens the kernel's management socket, with which active scans for LE are made. Nil: they are bluetoothd's.
    private nonisolated let managementSocket: ManagementSocket?
    /// Scans with that socket; nil without one.
    private(set) lazy var management = makeManagementScanner()
    let waits = ObjectWaits()

    var links = OwnLinks()
    /// Why Classic devices were refused, with the links on which bluetoothd asked for their services, by path.
    var refusals: [String: (link: ObjectTree.LinkIdentity, error: BLEError)] = [:]
    var scan = CentralScan()
    /// The object of each attribute, set when services are discovered.
    var attributes = AttributeTable<AttributeObject>()
    var uses = NotificationUses()
    var sockets = SocketTable()
    var reads = ReadTable()
    var calls = AttributeCalls()
    var lostRequests = LostRequests()
    /// The peripherals that were known before bluetoothd was lost.
    private var formerPeripherals: Set<Peripheral.ID> = []

    /// - Parameters:
    ///   - stack: the part that this role shares with others on the same adapter.
    ///   - managementSocket: opens the socket from which advertisements are received; nil if bluetoothd reports them.
    package init(_ stack: BlueZStack, _ managementSocket: ManagementSocket? = nil) {
        self.init(stack, managementSocket, BlueZAgents())
    }

    /// - Parameters:
    ///   - stack: the part that this role shares with others on the same adapter.
    ///   - managementSocket: opens the socket from which advertisements are received; nil if bluetoothd reports them.
    ///   - agents: those of the central's other radios on the bus.
    init(_ stack: BlueZStack, _ managementSocket: ManagementSocket?, _ agents: BlueZAgents) {
        (self.stack, self.managementSocket, self.agents) = (stack, managementSocket, agents)
        waits.onChange = { isWaiting in stack.enter { $0.hold(isWaiting) } }
    }

    var logger: Logger { context?.logger ?? Logger(label: "ble") }
    /// The central's clock.
    var configuredClock: any Clock<Duration> { context?.clock ?? ContinuousClock() }
    /// The time since the start, by the central's clock.
    private(set) var elapsed: @Sendable () -> Duration = { .zero }

    func report(_ event: CentralBackendEvent) {
        context?.handleEvent(event)
    }

    /// Sets the maximum delay of advertisements that the scan tolerates.
    func tolerate(_ delay: Duration) {
        onStack { [role] in $0.setTolerance(delay, of: role) }
        management?.assumeIsolated { $0.tolerate(delay) }
    }

    // MARK: Starting and stopping

    /// Joins the stack, which connects to the bus, lists bluetoothd's objects and chooses the adapter.
    public func start(_ context: CentralContext) async throws(BLEError) {
        self.context = context
        elapsed = Central.stopwatch(context.clock)
        role = try await stack.join(
            BlueZStack.Role(kind: .central, logger: context.logger, clock: context.clock) { [weak self] event in
                self?.enter { $0.handle(event) }
            })
        agent = BlueZAgent(stack, context.pairing, among: agents, logger: context.logger) { [weak self] event in
            await self?.handle(event)
        }
        // A default agent serves the whole system; other agents serve only this program.
        if context.pairing.isDefault { await agent?.register() }
    }

    /// The maximum time for a shutdown. bluetoothd takes about 2 s for each link, and ends them all at the same time.
    static let leaving = Duration.seconds(5)

    /// Ends the links that were made for this program, and leaves the stack.
    public func shutDown() async {
        isShutDown = true
        guard let role else { return }
        self.role = nil
        endSockets()
        // What is ending with the connection needs no wait.
        let isEndAwaited = isListening || onStack { $0.isShared }
        let scanEnds = abandonScan()
        onStack { $0.waits.lookAtAll() }
        let outcome = Outcome<Void>()
        // Whichever is first: nobody may move the central's clock.
        let timer = Expiry(after: Self.leaving, clock: configuredClock) { outcome.deliver(.success(())) }
        let loopTimer = stack.loop.schedule(after: Self.leaving) { outcome.deliver(.success(())) }
        let work = Task {
            await withDiscardingTaskGroup { group in
                // Several steps: without its role, nothing else begins. All at once, so that everything is sent,
                // however slow bluetoothd is.
                group.addTask { await self.leaveSession() }
                for end in scanEnds where isEndAwaited { group.addTask { try? await end.wait() } }
                for id in links.all { group.addTask { try? await self.disconnect(id) } }
            }
            await recoverLostRequests()
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
        timer.cancel()
        loopTimer.cancel()
        work.cancel()
        await stack.leave(role)
    }

    /// Unregisters the agent, and ends the notifications if the session remains open for other roles. Otherwise, they
    /// end with the session.
    private func leaveSession() async {
        let isShared = onStack { $0.isShared }
        for path in uses.deliveredPaths { setDelivery(nil, at: path) }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.agent?.stop() }
            guard isShared else { return }
            for (peripheral, path) in uses.allStarted {
                group.addTask { try? await self.stopNotifying(path, peripheral) }
            }
        }
    }

    deinit {
        // A central that is released without a shutdown.
        guard let role else { return }
        Task { [stack] in await stack.leave(role) }
    }

    // MARK: Events of the stack and its parts

    private func handle(_ event: StackEvent) {
        switch event {
        case .changed(let change): handle(change)
        case .adapterStateChanged(let state):
            if state != .poweredOn { voidScan() }
            report(.adapterStateChanged(state))
        case .useEnded(let path, let use):
            // If this client had acquired the socket, the acquisition has ended.
            guard let device = ObjectTree.device(ofAttribute: path) else { return }
            sockets.acquisitionEnded(Acquisition(path: path, use: use), Peripheral.ID(devicePath: device))
        case .objectsListed(let isSameStack):
            links.begin()
            lostRequests.listed(isSameStack ? objects : ObjectTree())
            let known = Set(knownPeripherals().map(\.id))
            for id in formerPeripherals.subtracting(known) { report(.peripheralRemoved(id)) }
            formerPeripherals = []
        case .stackLost(let message, let former): stackLost(message, former)
        }
    }

    private func handle(_ change: ObjectTree.Change) {
        switch change {
        case .heard(let path): heard(path)
        case .adapter(let path):
            management?.assumeIsolated { $0.neighborChanged() }
            waits.look(path)
        case .device(let path): waits.look(path)
        case .disconnected(let path, let address, let end):
            linkEnded(path, address, end)
            waits.look(path)
        case .paired(let path):
            if let id = id(ofDevice: path) { report(.pairingEnded(id)) }
        case .removed(let path, let address):
            _ = links.takeReason(path)
            links.forgetEnd(path)
            lostRequests.update(ofDevice: path, objects)
            // What the kernel still hears is there without an object.
            for id in Self.ids(ofDevice: path, address: address) {
                let isHeard = isQuiet && onStack { $0.tree.isStranger(id, adapter: $0.choice.path) }
                if !isHeard { report(.peripheralRemoved(id)) }
            }
        case .attributes(let path):
            lostRequests.update(ofDevice: path, objects)
            attributesChanged(path)
            waits.look(path)
        }
    }

    private func handle(_ event: PassiveScanner.Event) {
        switch event {
        case .heard(let path): heard(path)
        case .ended(let error): scanSourceEnded(error)
        }
    }

    private func makeManagementScanner() -> ManagementScanner? {
        guard let managementSocket else { return nil }
        return ManagementScanner(stack, managementSocket, clock: configuredClock) { [weak self] event in
            self?.enter { $0.handle(event) }
        }
    }

    private func handle(_ event: ManagementScanner.Event) {
        switch event {
        case .received(let id, let advertisement): report(.advertisementReceived(id, advertisement))
        case .forgotten(let id): report(.peripheralRemoved(id))
        case .ended(let error): scanSourceEnded(error)
        }
    }

    private func handle(_ event: BlueZAgent.Event) async {
        switch event {
        case .ended(let id): report(.pairingEnded(id))
        case .refused(let path): pairingRefused(path)
        }
    }

    /// Handles the loss of bluetoothd, and with it of every object.
    private func stackLost(_ message: String, _ former: ObjectTree) {
        endSockets()
        // Peripherals that the next bluetoothd does not know are reported as removed.
        formerPeripherals.formUnion(former.peripherals(onAdapter: adapterPath).map(\.id))
        formerPeripherals.formUnion(former.strangerIDs)
        voidScan()
        links.stackLost()
        refusals = [:]
        attributes = AttributeTable()
        uses = NotificationUses()
        sockets.forgetAcquisitions()
        reads.removeAll()
        report(.stackLost(.lost(message)))
        waits.lookAtAll()
    }

    // MARK: Adapters and peripherals

    /// Returns the state of the adapter in use: unavailable if it is unplugged, and resetting while bluetoothd or the
    /// bus is gone.
    public func adapterState() -> AdapterState { onStack { $0.adapterState } }

    /// Returns all adapters that bluetoothd knows.
    public func adapters() async throws(BLEError) -> [Adapter] { try await stack.adapters() }

    /// Sets `Powered`.
    public func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        try await stack.setPowered(isPowered, adapter: adapter)
    }

    /// Sets `Alias`.
    public func setAlias(_ alias: String, adapter: String?) async throws(BLEError) {
        try await stack.setAlias(alias, adapter: adapter)
    }

    /// Returns all devices that bluetoothd knows on the adapter in use, including cached ones.
    public func knownPeripherals() -> [KnownPeripheral] { objects.peripherals(onAdapter: adapterPath) }
}
