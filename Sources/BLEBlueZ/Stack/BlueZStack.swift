internal import BLE
package import DBus
internal import Logging
package import Loop
internal import Waiting

/// The part that the roles on one adapter share: the bus session, bluetoothd's objects, the choice of the adapter,
/// recovery, and the registrations with bluetoothd.
///
/// The loop thread of the session is the executor of this actor and of every role, and therefore of the central.
/// Signals arrive in the actor's isolation and update the `ObjectTree`, whose changes are reported to the roles.
/// Replies are in order with the signals, but bluetoothd signals some changes after its reply to the call that caused
/// them. If a reply can only be interpreted with a later signal, `fence()` makes another call first and waits for its
/// reply.
///
/// A role joins the stack when it starts and leaves it when it shuts down. The session is open while there is a role.
/// There is at most one role of each kind.
package actor BlueZStack {
    /// The thread of the bus connection.
    package nonisolated let loop: EventLoop
    /// The same thread, as an executor for tasks.
    nonisolated let tasks: LoopTaskExecutor
    /// The executor of the loop.
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Makes the sockets of L2CAP channels.
    nonisolated let channelSockets: any ChannelSockets
    /// The bus that bluetoothd is on.
    nonisolated let address: BusAddress
    private(set) var session: BusSession?
    private(set) var tree = ObjectTree()
    private(set) var choice: AdapterChoice
    /// False from the loss of bluetoothd or the bus until bluetoothd is back.
    private(set) var isRunning = false
    /// The bluetoothd that has listed its objects last.
    private var stack: String?
    let waits = ObjectWaits()
    /// The number of the adapter whose advertisements a role receives from the kernel; nil without such a role. What
    /// bluetoothd signals about them is then skipped.
    private(set) var packetAdapter: UInt16?
    /// Whether the session is open only for bluetoothd to end a scan, which would go on for as long as the program's
    /// connection lasts.
    private(set) var isDraining = false
    /// bluetoothd has one session for all centrals that this connection has had.
    var discovery = DiscoverySession()
    /// The time since this was made, by the loop's clock.
    nonisolated let elapsed: @Sendable () -> Duration
    /// The number of roles that wait for a change of an object, including this actor.
    private var holds = 0

    private var roles: [Int: Role] = [:] {
        didSet { packetAdapter = roles.values.lazy.compactMap(\.packetAdapter).first }
    }
    private var registrations = Registrations()
    private var deliveries = Deliveries()
    private var lastRole = 0
    /// Opens the session for the first role, and for roles that join meanwhile.
    private var opening: Task<Result<Void, BLEError>, Never>?
    /// Closes the session after the last role has left.
    private var unwinding: Task<Void, Never>?
    /// Whether the first role has found everything. Until then, it handles a loss itself.
    private var isOpen = false
    /// Reconnects to bluetoothd after it or the bus was lost.
    private var recovery: Task<Void, Never>?
    /// The number of calls that bluetoothd will never answer, of earlier sessions over the program's connection. The
    /// bus counts them until bluetoothd stops.
    var lostEarlier = 0

    /// The maximum time for a call that bluetoothd answers without asking a peripheral.
    static let promptly = Duration.seconds(10)

    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - address: the bus that bluetoothd is on.
    ///   - channelSockets: makes the sockets of L2CAP channels; nil for the kernel's.
    ///   - loop: the thread, which may be that of another stack; nil for one of its own.
    package init(
        adapter: String?, address: BusAddress, channelSockets: (any ChannelSockets)? = nil, loop: EventLoop? = nil
    ) {
        self.address = address
        self.channelSockets = channelSockets ?? KernelChannelSockets()
        choice = AdapterChoice(wanted: adapter)
        let loop = loop ?? EventLoop(name: "bluez")
        self.loop = loop
        elapsed = Central.stopwatch(loop.clock)
        tasks = LoopTaskExecutor(loop)
    }

    // MARK: Roles

    /// Adds a role. The first one opens the session. Returns a number for ``leave(_:)``.
    ///
    /// A role may join while bluetoothd is gone or its adapter is unplugged, if there is another role: the adapter's
    /// state shows this, and recovery continues.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, and `busy` if there is a role of that kind:
    /// bluetoothd would treat two of them as one client, and each would end what the other has started.
    func join(_ role: Role) async throws(BLEError) -> Int {
        guard !roles.values.contains(where: { $0.kind == role.kind }) else {
            throw BLEError(
                .busy, "this connection already has a \(role.kind)", isRetryable: false,
                remedy: "Give each a connection of its own.")
        }
        lastRole += 1
        let number = lastRole
        roles[number] = role
        waits.onChange = { [weak self] isWaiting in self?.assumeIsolated { $0.hold(isWaiting) } }
        updateTolerance()
        let opening =
            opening
            ?? Task { [unwinding] in
                await unwinding?.value
                return await self.open()
            }
        self.opening = opening
        do throws(BLEError) {
            // A role that gives up does not wait for the session, which opens for other roles.
            let outcome = Outcome<Void>()
            Task { outcome.deliver(await opening.value) }
            try await outcome.wait()
        } catch {
            await leave(number)
            throw error
        }
        return number
    }

    /// Removes a role. With the last one, the session is closed.
    func leave(_ role: Int) async {
        guard let former = roles.removeValue(forKey: role) else { return }
        // A role that is released without a shutdown has not ended it.
        if former.packetAdapter != nil { tree.endReception() }
        if former.kind == .central { endDiscoveries() }
        updateTolerance()
        guard roles.isEmpty else { return }
        endDiscoveries()
        let (opening, recovery) = (opening, recovery)
        opening?.cancel()
        recovery?.cancel()
        (self.opening, self.recovery) = (nil, nil)
        let isDraining = isConnectionKept && !discovery.isAtRest
        self.isDraining = isDraining
        unwinding = Task { [unwinding] in
            await unwinding?.value
            _ = await opening?.value
            await recovery?.value
            guard isDraining else { return }
            // The wait ends with each failure, after which it is tried again until it is given up.
            repeat {
                endDiscoveries()
                try? await discoveryEnd().wait()
            } while !discovery.isAtRest
            self.isDraining = false
            await closeBus()
        }
        (isOpen, isRunning) = (false, false)
        deliveries = Deliveries()
        if !isDraining { await closeBus() }
    }

    /// Whether there is a role.
    var isWanted: Bool { !roles.isEmpty }

    /// Whether bluetoothd keeps what a role that leaves has registered: another role is there, or the connection
    /// outlasts the session.
    var isShared: Bool { roles.count > 1 || isConnectionKept }

    /// Whether the connection to the bus is the program's, and outlasts the session.
    var isConnectionKept: Bool { address.outlastsSessions }

    /// The role that joined first. Its log and clock are used.
    private var eldest: Role? { roles.min { $0.key < $1.key }?.value }
    var logger: Logger { eldest?.logger ?? Logger(label: "ble") }
    var clock: any Clock<Duration> { eldest?.clock ?? ContinuousClock() }

    private func open() async -> Result<Void, BLEError> {
        do throws(BLEError) {
            do throws(DBusError) {
                try await openBus()
                try await snapshot()
            } catch {
                throw BLEError(error, during: .start)
            }
            guard isWanted, !Task.isCancelled else { throw BLEError.cancelled }
            // bluetoothd may have stopped since.
            guard isRunning else { throw BLEError.notRunning() }
            try choice.choose(in: tree)
            isOpen = true
            return .success(())
        } catch {
            isRunning = false
            await closeBus()
            return .failure(error)
        }
    }

    /// Reports an event to the roles. Events of devices of other adapters are not reported: a role identifies a device
    /// by its address, which several adapters may have received.
    private func tell(_ event: StackEvent) {
        if let object = event.deviceObject, !choice.includes(object) { return }
        if event.endsDiscovery { discovery.void(DiscoverySession.disappeared) }
        for role in roles.values { role.handle(event) }
    }

    // MARK: Session

    /// Connects to the bus and subscribes to its signals.
    func openBus() async throws(DBusError) {
        loop.onStall { [logger] time in
            logger.warning(
                "code on Bluetooth's thread has blocked it", metadata: ["duration": "\(time)"])
        }
        let session = BusSession(
            loop: loop, logger: logger, service: BlueZ.service,
            onSignal: { [weak self] message in self?.enter { $0.receive(message) } },
            onOwner: { [weak self] _ in self?.assumeIsolated { $0.ownerChanged() } },
            onLoss: { [weak self] in self?.assumeIsolated { $0.loseBus() } })
        do throws(DBusError) {
            try await session.open(address, timeout: Self.promptly)
            // Subscribe before asking, so that no change is missed.
            for rule in BlueZ.matchRules { try await session.listen(rule, timeout: Self.promptly) }
        } catch {
            await session.close()
            throw error
        }
        guard isWanted, !Task.isCancelled else {
            await session.close()
            throw DBusError(.disconnected, message: "no role is left")
        }
        self.session = session
        updateTolerance()
    }

    private func closeBus() async {
        let session = session
        self.session = nil
        if isConnectionKept {
            lostEarlier += session?.enter { $0.lostCount } ?? 0
        } else {
            discovery.void(DiscoverySession.disappeared)
        }
        await session?.close()
    }

    /// Returns the open session, for calls and for objects that are served for bluetoothd.
    func openSession() throws(DBusError) -> BusSession {
        guard let session else { throw Self.notConnected }
        return session
    }

    static let notConnected = DBusError(.disconnected, message: "not connected to the message bus")

    /// Lists all objects, in order with the signals, and replaces the tree.
    func snapshot() async throws(DBusError) {
        let call = MethodCall(BlueZ.service, "/", BlueZ.objectManager, "GetManagedObjects")
        try await openSession().ask(call, timeout: Self.promptly) { [weak self] (body) throws(DBusError) in
            let tree = try ObjectTree(managedObjects: &body)
            self?.assumeIsolated {
                if $0.isDraining { return }
                $0.tree = tree
                $0.isRunning = true
                let stack = $0.session?.enter { $0.ownerIdentity }
                $0.tell(.objectsListed(isSameStack: stack == $0.stack))
                // It may have been restarted while there was no session.
                if stack != $0.stack { $0.lostEarlier = 0 }
                $0.stack = stack
            }
        }
    }

    // MARK: Changes

    /// Updates the tree, and reports the changes to the roles.
    func update(_ change: (inout ObjectTree) -> [ObjectTree.Change]) {
        for change in change(&tree) {
            if case .adapter(let path) = change {
                adapterChanged()
                waits.look(path)
            }
            tell(.changed(change))
        }
    }

    /// Reports the state of the adapter in use, and switches to another one if it is gone.
    ///
    /// The loss is reported even if both adapters are powered on, because no operation on the first continues on the
    /// second.
    private func adapterChanged() {
        // Before bluetoothd has listed its objects, nothing is known to be gone.
        guard isRunning else { return }
        if let state = choice.stateToReport(in: tree) {
            tell(.adapterStateChanged(state))
            waits.lookAtAll()
        }
        guard choice.replaceMissing(in: tree), let state = choice.stateToReport(in: tree) else { return }
        tell(.adapterStateChanged(state))
    }

    /// Applies an advertisement that the kernel has received. Returns what is known of its sender, and the devices that
    /// are forgotten: too many that bluetoothd does not know.
    func receive(
        _ received: ReceivedAdvertisement
    ) -> (heard: (id: DeviceID, advertisement: Advertisement)?, forgotten: [DeviceID]) {
        if let heard = tree.receive(received) { return (heard, []) }
        return (tree.receiveStranger(received), tree.takeForgotten(adapter: choice.path))
    }

    /// Records that a client uses a characteristic, or no longer does.
    func recordUse(_ path: String, _ use: AttributeUse, _ isOn: Bool) {
        guard tree.hasAttribute(path) else { return }
        tree.use(path, use, isOn)
        if !isOn { tell(.useEnded(path: path, use)) }
    }

    func noteLinkEnd(_ path: String, _ end: ObjectTree.LinkEnd) {
        tree.noteLinkEnd(path, end)
    }

    // MARK: Values

    /// Returns the receiver of the values of the characteristic at a path.
    func delivery(_ path: MessageString) -> Deliveries.Delivery? { deliveries.find(path) }

    /// Lets signals wait to be handled together, unless more than the advertisements of this role's scan is awaited.
    func setTolerance(_ tolerance: Duration, of role: Int?) {
        guard let role else { return }
        roles[role]?.tolerance = tolerance
        updateTolerance()
    }

    /// Sets the adapter whose advertisements a role receives from the kernel: nil for none, as after its end.
    func setPacketAdapter(_ adapter: UInt16?, of role: Int) { roles[role]?.packetAdapter = adapter }

    /// Ends the reception of advertisements from the kernel: what only the kernel has told of signal strengths is void.
    func endReception() { tree.endReception() }

    /// Begins or ends a period in which signals are awaited.
    func hold(_ isHeld: Bool) {
        holds += isHeld ? 1 : -1
        updateTolerance()
    }

    private func updateTolerance() {
        let isScanAlone = deliveries.isEmpty && holds == 0 && roles.count <= 1
        let tolerance = isScanAlone ? roles.values.first?.tolerance ?? .zero : .zero
        session?.enter { $0.setTolerance(tolerance) }
    }

    /// Changes the receivers of values.
    func withDeliveries<Value: Sendable>(_ body: (inout Deliveries) -> Value) -> Value {
        defer { updateTolerance() }
        return body(&deliveries)
    }

    // MARK: Registrations

    /// Adds a registration, which is renewed after every loss of bluetoothd until it is removed. Returns its number.
    func addRegistration(_ registration: Registration) -> Int { registrations.add(registration) }

    func removeRegistration(_ number: Int) { registrations.remove(number) }

    // MARK: Loss and return

    /// Handles the loss of bluetoothd or the bus, and with it of every object.
    func lose(_ message: String) {
        guard isRunning else { return }
        isRunning = false
        let former = tree
        tree = ObjectTree()
        deliveries = Deliveries()
        registrations.lost()
        choice.lost()
        tell(.stackLost(message: message, former: former))
        tell(.adapterStateChanged(.resetting))
        waits.lookAtAll()
    }

    /// Starts to reconnect to bluetoothd, or starts over.
    func recover() {
        guard isOpen else { return }
        let earlier = recovery
        earlier?.cancel()
        recovery = Task {
            // Recoveries run one at a time, so that there is only one session.
            await earlier?.value
            await recoverUntilRunning()
        }
    }

    /// Chooses the adapter again after bluetoothd has returned, renews the registrations, and reports the state.
    func resume() async {
        await chooseAdapterAgain()
        // A registration may be removed while another is renewed.
        for entry in registrations.all where registrations.contains(entry.number) { await entry.registration.renew() }
        logger.debug("bluetoothd is back", metadata: ["adapter": "\(choice.path)"])
        if isRunning, let state = choice.stateToReport(in: tree) { tell(.adapterStateChanged(state)) }
    }

    /// How long to wait, after bluetoothd has returned, for the adapter that was in use. bluetoothd reports its
    /// adapters one by one.
    private static let adapterGrace = Duration.seconds(3)

    /// Waits for the adapter that was in use before the loss, and chooses another if it does not appear.
    private func chooseAdapterAgain() async {
        if choice.keep(in: tree) { return }
        choice.beginWait()
        let former = choice.path
        _ = try? await waits.wait(forObject: former, within: Self.adapterGrace, clock: clock) { () throws(BLEError) in
            // If bluetoothd stops again, there is nothing to wait for.
            self.tree.adapters[former] != nil || !self.isRunning ? () : nil
        }
        choice.endWait(in: isRunning ? tree : nil)
    }
}
