import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Synchronization

/// The daemon's start and its end.
extension FakeBlueZ {
    /// Starts the daemon, with its adapters and without devices.
    public func start() async throws {
        try await startBackend()
        let session = BusSession(
            loop: loop, logger: logger, refusals: refusals,
            onSignal: { [weak self] message in self?.heard(message) }, onLoss: {})
        do {
            try await begin(session)
        } catch {
            self.session = nil
            for other in others.values { await other.forgetSession() }
            await session.close()
            throw error
        }
    }

    private func begin(_ session: BusSession) async throws {
        try await session.open(.address(address), timeout: timeouts.call)
        try await session.listen(
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged'", timeout: timeouts.call)
        self.session = session
        export("/", Interfaces.objectManager) { daemon, call in .success(MethodReply([daemon.managedObjects])) }
        await join(session)
        for other in others.values { await other.join(session) }
        if faults.hasAgentManager {
            export("/org/bluez", Interfaces.agentManager) { daemon, call in daemon.agentManagerCall(call) }
        }
        try await own(BlueZ.service, session)
    }

    /// The radio's side, which stays for ever.
    func startBackend() async throws {
        guard !hasStarted else { return }
        hasStarted = true
        let context = CentralContext(
            handleEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
            logger: logger, clock: radio.clock,
            pairing: PairingAgent(
                capability: { [weak self] in self?.assumeIsolated { $0.pairingCapability } },
                answer: { [weak self] id, prompt in await self?.ask(id, prompt) ?? .refuse }))
        try await backend.start(context)
    }

    /// Shows the adapter on the bus.
    func join(_ session: BusSession) async {
        self.session = session
        if isPresent { showStored() }
        // As `AutoEnable` has it, unless it is blocked.
        isPowered = !isBlocked
        guard isPresent else { return }
        await radio.setPowered(isPowered, adapter: name)
        exportAdapter()
    }

    /// Serves the adapter's interfaces.
    func exportAdapter() {
        export(adapterPath, Interfaces.adapter) { daemon, call in
            await daemon.adapterCall(call)
        } property: { [weak self] name in
            self?.publishedAdapter.withLock { $0[name] }
        }
        exportMonitorManager()
        exportServing()
    }

    /// Takes the daemon's name, once the bus has noticed the end of a daemon that was killed.
    private func own(_ name: String, _ session: BusSession) async throws {
        let (isOwner, isTaken) = (1, 3)
        let limit = ContinuousClock.now + timeouts.call
        while true {
            let reply = try await session.call(
                .bus("RequestName", [.string(name), .uint32(4)]), timeout: timeouts.call)
            switch reply.values.first?.integer {
            case isOwner: return
            case isTaken where .now < limit: try await Task.sleep(for: .milliseconds(2))
            case isTaken: throw BLEError(.busy, "another program has the name \(name) on the bus", isRetryable: true)
            default: throw BLEError(.failed, "the bus does not give the name: \(reply.values)")
            }
        }
    }

    /// Ends the daemon at once, without a signal, as SIGKILL does. The kernel ends its links.
    public func kill() async {
        let session = session
        self.session = nil
        for other in others.values { await other.forgetSession() }
        await session?.close()
        for other in others.values { await other.endAdapter() }
        await endAdapter()
        release()
    }

    private func forgetSession() { session = nil }

    /// The daemon has ended, and with it what it has done for an adapter.
    private func endAdapter() async {
        clients = [:]
        discoveryChanged()
        isDiscoverySignaled = false
        agents = []
        await endServing()
        let attempts = devices.values.compactMap(\.connecting)
        for attempt in attempts { attempt.cancel() }
        for device in devices.values {
            device.pairing?.cancel()
            endWaits(device.id)
            endSockets(of: device.id)
        }
        (unmadeSockets, writing) = ([], [])
        pairings = [:]
        stored += devices.removeAll().values.compactMap(\.stored)
        // Its answers go nowhere, but what waits for them ends.
        release()
        try? await backend.stopDiscovery()
        // An attempt that was cancelled too late has made a link.
        for attempt in attempts { _ = await attempt.value }
        await backend.endLinks()
    }

    /// Whether it has been started, and not killed.
    package var isRunning: Bool { session != nil }
}
