internal import BLE
internal import DBus
internal import Logging

/// What happens when bluetoothd, or the bus, goes and comes back.
///
/// The central takes up again what was going on; here the way to bluetoothd is made anew.
extension BlueZBackend {
    /// bluetoothd or the bus is gone, and with it every object.
    func lose(_ message: String) {
        guard isRunning else { return }
        isRunning = false
        endSockets()
        // Those that the next one does not know are gone.
        formerPeripherals.formUnion(knownPeripherals().map(\.id))
        tree = ObjectTree()
        agentRegistration = nil
        voidDiscovery()
        // Those of earlier losses, too, but not for ever.
        formerLinks = formerLinks.count < 1000 ? formerLinks.union(ownLinks) : ownLinks
        ownLinks = []
        paths = AttributeTable()
        deliveries = [:]
        deliveryPaths = AttributeTable()
        started = [:]
        acquisitions = [:]
        reads = [:]
        disconnectReasons = [:]
        linkEndErrors = [:]
        for prompt in prompts.values { prompt.task.cancel() }
        prompts = [:]
        reportedAdapterState = .resetting
        report(.lost(.lost(message)))
        report(.adapter(.resetting))
        for path in watchers.keys { look(path) }
    }

    /// bluetoothd's name has another owner, or none any more.
    func ownerChanged(_ owner: String?) {
        // Also where one has taken the name from another: what the first has said is not the second's.
        lose("bluetoothd has stopped")
        recover()
    }

    /// The connection to the bus is gone.
    func loseBus() {
        lose("the connection to the message bus was lost")
        recover()
    }

    /// Begins, or begins again, to take bluetoothd up.
    private func recover() {
        guard isStarted, !isShutDown else { return }
        let earlier = recovery
        earlier?.cancel()
        recovery = Task {
            // One at a time, so that there is one session.
            await earlier?.value
            await recoverUntilRunning()
        }
    }

    /// How long the word of the bus that bluetoothd's name has no owner is believed.
    private static let ownerCheck = Duration.seconds(30)

    /// Tries until there is a bus and bluetoothd has told its objects, every 0.1 s at first and every 5 s in the end. While its name
    /// has no owner there is nothing to try: the bus tells when it has.
    private func recoverUntilRunning() async {
        var pause = Duration.milliseconds(100)
        while !isShutDown, !isRunning, !Task.isCancelled {
            do throws(DBusError) {
                if await session?.isOpen != true { try await openBus() }
                guard await session?.owner != nil else {
                    guard (try? await clock.sleep(for: Self.ownerCheck)) != nil else { return }
                    try await session?.askOwner(timeout: Self.promptly)
                    continue
                }
                try await snapshot()
            } catch {
                logger.debug("bluetoothd is not back yet", metadata: ["error": "\(error)"])
                guard (try? await clock.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, .seconds(5))
            }
        }
        guard isRunning, !isShutDown else { return }
        if let path = preferredAdapter(), path == adapter || wantedAdapter != nil {
            adapter = path
        } else {
            await awaitFormerAdapter()
        }
        await renewAgent()
        logger.debug("bluetoothd is back", metadata: ["adapter": "\(adapter)"])
        reportAdapterState()
    }

    /// How long after bluetoothd's return the adapter that was in use may take to appear: bluetoothd shows one after the other.
    private static let adapterGrace = Duration.seconds(3)

    /// Waits for the adapter that was in use before bluetoothd went; takes another when it does not appear.
    private func awaitFormerAdapter() async {
        isFormerAdapterAwaited = true
        defer { isFormerAdapterAwaited = false }
        let former = adapter
        _ = try? await wait(forObject: former, within: Self.adapterGrace) { () throws(BLEError) in
            // When bluetoothd goes again there is nothing to wait for.
            self.tree.adapters[former] != nil || !self.isRunning ? () : nil
        }
        if isRunning, let path = preferredAdapter() { adapter = path }
    }
}
