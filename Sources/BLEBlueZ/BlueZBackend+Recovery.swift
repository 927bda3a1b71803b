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
        tree = ObjectTree()
        isDiscovering = false
        forgetPassiveScan()
        ownLinks = []
        paths = [:]
        deliveries = [:]
        deliveryPaths = [:]
        reads = [:]
        disconnectReasons = [:]
        reportedAdapterState = .resetting
        report(.lost(.lost(message)))
        report(.adapter(.resetting))
        for watcher in watchers.values { watcher.look() }
    }

    /// The connection to the bus is gone.
    func loseBus() {
        lose("the connection to the message bus was lost")
        guard !isShutDown else { return }
        recovery?.cancel()
        recovery = Task { await reopenBus() }
    }

    /// Tries until there is a bus again, every 0.1 s at first and every 5 s in the end.
    private func reopenBus() async {
        var pause = Duration.milliseconds(100)
        while !isShutDown, !Task.isCancelled {
            do throws(DBusError) {
                try await openBus()
                return await returned()
            } catch {
                logger.debug("the bus is not back yet", metadata: ["error": "\(error)"])
            }
            guard (try? await clock.sleep(for: pause)) != nil else { return }
            pause = min(pause * 2, .seconds(5))
        }
    }

    /// bluetoothd may be back: looks, and takes up its objects. Where it is not, its name will be heard of.
    func returned() async {
        while !isShutDown, !isRunning {
            do throws(DBusError) {
                try await snapshot()
            } catch {
                logger.debug("bluetoothd does not answer yet", metadata: ["error": "\(error)"])
                guard error.kind == .timedOut, (try? await clock.sleep(for: .seconds(1))) != nil else { return }
            }
        }
        guard isRunning else { return }
        if let path = preferredAdapter() { adapter = path }
        await registerAgent()
        logger.debug("bluetoothd is back", metadata: ["adapter": "\(adapter)"])
        reportAdapterState()
    }
}
