internal import BLE
internal import DBus
internal import Logging

/// Recovery after bluetoothd or the bus has stopped and returned.
///
/// The central resumes its own operations; this part reconnects to bluetoothd.
extension BlueZBackend {
    /// Handles the loss of bluetoothd or the bus, and with it of every object.
    func lose(_ message: String) {
        guard isRunning else { return }
        isRunning = false
        endSockets()
        // Peripherals that the next bluetoothd does not know are reported as removed.
        formerPeripherals.formUnion(knownPeripherals().map(\.id))
        tree = ObjectTree()
        agentRegistration = nil
        voidDiscovery()
        // Includes the links of earlier losses, up to a limit.
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
        report(.stackLost(.lost(message)))
        report(.adapterStateChanged(.resetting))
        for path in watchers.keys { look(path) }
    }

    /// Handles a new owner of bluetoothd's name, or the lack of one.
    func ownerChanged(_ owner: String?) {
        // Also if another process has taken the name: the state of the former owner does not apply to it.
        lose("bluetoothd has stopped")
        recover()
    }

    /// Handles the loss of the connection to the bus.
    func loseBus() {
        lose("the connection to the message bus was lost")
        recover()
    }

    /// Starts to reconnect to bluetoothd, or starts over.
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

    /// How long to trust the bus's report that bluetoothd's name has no owner.
    private static let ownerCheck = Duration.seconds(30)

    /// Tries until there is a bus and bluetoothd has listed its objects, with pauses from 0.1 s up to 5 s. Does not try
    /// while bluetoothd's name has no owner, because the bus signals a new owner.
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

    /// How long to wait, after bluetoothd has returned, for the adapter that was in use. bluetoothd shows its adapters
    /// one by one.
    private static let adapterGrace = Duration.seconds(3)

    /// Waits for the adapter that was in use before the loss, and chooses another if it does not appear.
    private func awaitFormerAdapter() async {
        isFormerAdapterAwaited = true
        defer { isFormerAdapterAwaited = false }
        let former = adapter
        _ = try? await wait(forObject: former, within: Self.adapterGrace) { () throws(BLEError) in
            // If bluetoothd stops again, there is nothing to wait for.
            self.tree.adapters[former] != nil || !self.isRunning ? () : nil
        }
        if isRunning, let path = preferredAdapter() { adapter = path }
    }
}
