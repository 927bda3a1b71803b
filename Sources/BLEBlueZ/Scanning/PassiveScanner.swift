internal import BLE
internal import DBus
internal import Synchronization
internal import Waiting

/// A passive scan: the monitors that bluetoothd calls when it receives matching advertisements.
private struct PassiveScan {
    /// The path of the registered object.
    let root: String
    /// The registered object, with a monitor for each list of patterns.
    let monitors: ObjectServer
    /// The adapter that it was registered with.
    let adapter: String
    /// The paths of the monitors, those that are not active yet, and those that bluetoothd has released.
    var paths: [String] = []
    var waiting: Set<String> = []
    var released: Set<String> = []
    /// Succeeds when all monitors are active, and fails if one was refused.
    let isActive = Outcome<Void>()
}

/// Passive scanning with `org.bluez.AdvertisementMonitor1`, on the stack's executor.
///
/// bluetoothd fetches the monitors from an object that this client serves, and reports for each one whether it is
/// active; the answer of `RegisterMonitor` does not. Without RSSI thresholds, bluetoothd calls `DeviceFound` for every
/// advertisement (`adv_monitor_filter_rssi` in BlueZ's `src/adv_monitor.c`), which a scan needs to know that a
/// peripheral is still there.
actor PassiveScanner: BlueZRole {
    enum Event: Sendable {
        /// An advertisement of the device at that path was received.
        case heard(String)
        /// The scan has ended and cannot continue.
        case ended(BLEError)
    }

    nonisolated let stack: BlueZStack
    private let clock: any Clock<Duration>
    private let report: @Sendable (Event) -> Void
    /// The scans that bluetoothd has or may get: the one, and during a change the next one after it.
    private var scans: [PassiveScan] = []
    /// The number of scans so far, for unique paths: a connection may serve those of several centrals.
    private static let lastScan = Atomic<Int>(0)

    nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// - Parameter report: receives events, on the stack's executor.
    init(_ stack: BlueZStack, clock: any Clock<Duration>, report: @escaping @Sendable (Event) -> Void) {
        (self.stack, self.clock, self.report) = (stack, clock, report)
    }

    /// Whether there is a passive scan.
    nonisolated var isOn: Bool { assumeIsolated { !$0.scans.isEmpty } }

    private static let monitor = "org.bluez.AdvertisementMonitor1"
    private static let monitorDescription = InterfaceDescription(
        monitor,
        .method("Release"),
        .method("Activate"),
        .method("DeviceFound", takes: "o"),
        .method("DeviceLost", takes: "o"),
        .property("Type", type: "s"),
        .property("Patterns", type: "a(yyay)"))

    /// Starts a passive scan with a filter. An earlier passive scan ends when this one has started.
    func start(_ filter: DiscoveryFilter) async throws(BLEError) {
        let number = Self.lastScan.add(1, ordering: .relaxed).newValue
        let root = "/swift_ble/monitor\(number)"
        let monitors = AdvertisementPattern.monitors(for: filter)
        var scan = PassiveScan(
            root: root, monitors: ObjectServer(try await stack.openBusSession(), root: root), adapter: adapterPath)
        scan.paths = monitors.indices.map { "\(root)/\($0)" }
        scan.waiting = Set(scan.paths)
        // bluetoothd calls the monitors before they are active.
        onStack { $0.hold(true) }
        defer { onStack { $0.hold(false) } }
        scans.append(scan)
        do throws(BLEError) {
            try await serve(monitors, of: scan)
            // It may have been forgotten meanwhile.
            if !scans.contains(where: { $0.root == root }) { try await scan.isActive.wait() }
            _ = try await stack.call(
                BlueZ.call(scan.adapter, BlueZ.monitorManager, "RegisterMonitor", .objectPath(scan.root)),
                during: .discovery)
            try await activation(of: scan)
        } catch {
            await end(scan)
            throw Self.refusal(error)
        }
        for earlier in scans where earlier.root != root { await end(earlier) }
    }

    /// Stops the passive scan. Does nothing if there is none.
    func stop() async {
        for scan in scans { await end(scan) }
    }

    /// Ends the passive scan at once: the adapter is off, bluetoothd has stopped, or the central is shut down. Returns
    /// the waits until bluetoothd, which keeps its monitors while the adapter is off, has ended its part.
    ///
    /// - Parameter error: the reason for which a start that has no result yet fails.
    func forget(_ error: BLEError) -> [Outcome<Void>] {
        let ending = scans
        return ending.compactMap { scan in
            guard let scan = take(scan) else { return nil }
            scan.isActive.deliver(.failure(error))
            let end = Outcome<Void>()
            guard scan.released.isEmpty else {
                Task {
                    await self.end(released: scan)
                    end.deliver(.success(()))
                }
                return end
            }
            // Sent at once, before the connection is left.
            onStack { stack in
                _ = stack.start(
                    Self.unregister(scan), during: .discovery, timeout: BlueZStack.promptly, read: { _ in }
                ) { _ in
                    Task {
                        await scan.monitors.stop()
                        end.deliver(.success(()))
                    }
                }
            }
            return end
        }
    }

    /// Removes a scan, and returns its state. Nil if that was done before: each is unregistered once.
    private func take(_ scan: PassiveScan) -> PassiveScan? {
        scans.firstIndex { $0.root == scan.root }.map { scans.remove(at: $0) }
    }

    /// Ends a scan, also for a caller that has given up.
    private func end(_ scan: PassiveScan) async {
        guard let scan = take(scan) else { return }
        let end = Outcome<Void>()
        Task {
            if scan.released.isEmpty {
                _ = try? await stack.call(Self.unregister(scan), during: .discovery)
                await scan.monitors.stop()
            } else {
                await self.end(released: scan)
            }
            end.deliver(.success(()))
        }
        try? await end.wait()
    }

    /// Ends a scan of which bluetoothd has released monitors: 5.66 crashes if such a monitor is unregistered. The
    /// others end when their objects do.
    private func end(released scan: PassiveScan) async {
        for path in scan.paths where !scan.released.contains(path) { try? await scan.monitors.remove(path) }
        await scan.monitors.stop()
    }

    private static func unregister(_ scan: PassiveScan) -> MethodCall {
        BlueZ.call(scan.adapter, BlueZ.monitorManager, "UnregisterMonitor", .objectPath(scan.root))
    }

    private func activation(of scan: PassiveScan) async throws(BLEError) {
        let timer = scan.isActive.expire(after: BlueZStack.promptly, clock: clock) {
            BLEError(.timedOut, "bluetoothd did not start the passive scan")
        }
        defer { timer.cancel() }
        try await scan.isActive.wait()
    }

    /// Returns the error for a bluetoothd without the interface, which answers with an error of the bus.
    private static func refusal(_ error: BLEError) -> BLEError {
        let missing = ["UnknownMethod", "UnknownInterface", "UnknownObject"].map { "org.freedesktop.DBus.Error.\($0)" }
        guard let name = error.stackErrorName, missing.contains(name) else { return error }
        return BLEError(
            .notSupported, "this bluetoothd does not offer passive scanning", stackErrorName: name,
            remedy: "Start it with --experimental, or set Experimental=true in /etc/bluetooth/main.conf; it also needs "
                + "Linux 5.10 or newer.", cause: error.cause)
    }

    // MARK: Served objects

    private func serve(_ monitors: [[AdvertisementPattern]], of scan: PassiveScan) async throws(BLEError) {
        let root = scan.root
        do throws(DBusError) {
            for (number, patterns) in monitors.enumerated() {
                let interface = ObjectServer.Interface(Self.monitorDescription) { name in
                    switch name {
                    case "Type": .string("or_patterns")
                    case "Patterns": AdvertisementPattern.array(patterns)
                    default: nil
                    }
                } handle: { [weak self] call in
                    await self?.monitorCalled(call, root)
                    return .success(MethodReply())
                }
                try await scan.monitors.add("\(root)/\(number)", [interface])
            }
            try await scan.monitors.start()
        } catch {
            throw BLEError(error, during: .discovery)
        }
    }

    private func monitorCalled(_ call: IncomingCall, _ root: String) async {
        guard let index = scans.firstIndex(where: { $0.root == root }) else { return }
        switch call.method {
        case "Activate":
            scans[index].waiting.remove(call.path)
            if scans[index].waiting.isEmpty { scans[index].isActive.deliver(.success(())) }
        case "Release":
            scans[index].released.insert(call.path)
            await released(scans[index])
        case "DeviceFound":
            guard let path = call.arguments.first?.string else { return }
            // The signal that adds the device may still be on its way.
            if objects.devices[path]?.isHeard != true { try? await stack.refresh(path) }
            report(.heard(path))
        default: break  // The central decides when a device is lost.
        }
    }

    /// Handles the release of the monitors: bluetoothd, the kernel or the controller does not scan passively, or no
    /// longer.
    private func released(_ released: PassiveScan) async {
        let error = BLEError(
            .notSupported, "bluetoothd or the kernel does not scan passively, or has stopped", remedy: "Scan actively.")
        guard released.waiting.isEmpty else {
            released.isActive.deliver(.failure(error))
            return
        }
        // Powering off also releases the monitors, and is reported separately.
        guard (try? await clock.sleep(for: .seconds(2))) != nil, isPoweredOn, let released = take(released) else {
            return
        }
        await end(released: released)
        // Unless the next scan is starting.
        if scans.isEmpty { report(.ended(error)) }
    }
}
