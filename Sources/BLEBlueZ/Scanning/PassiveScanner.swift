internal import BLE
internal import DBus
internal import Waiting

/// A passive scan: the monitors that bluetoothd calls when it receives matching advertisements.
private struct PassiveScan {
    /// The path of the registered object.
    let root: String
    /// The registered object, with a monitor for each list of patterns.
    let monitors: ObjectServer
    /// The adapter that it was registered with.
    let adapter: String
    /// The paths of the monitors that are not active yet.
    var waiting: Set<String> = []
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
    private var scan: PassiveScan?
    /// The number of scans so far, for unique paths.
    private var last = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// - Parameter report: receives events, on the stack's executor.
    init(_ stack: BlueZStack, clock: any Clock<Duration>, report: @escaping @Sendable (Event) -> Void) {
        (self.stack, self.clock, self.report) = (stack, clock, report)
    }

    /// Whether there is a passive scan.
    nonisolated var isOn: Bool { assumeIsolated { $0.scan != nil } }

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
        let before = scan
        last += 1
        let root = "/swift_ble/monitor\(last)"
        let monitors = AdvertisementPattern.monitors(for: filter)
        var scan = PassiveScan(
            root: root, monitors: ObjectServer(try await stack.openBusSession(), root: root), adapter: adapterPath)
        scan.waiting = Set(monitors.indices.map { "\(root)/\($0)" })
        // bluetoothd calls the monitors before they are active.
        onStack { $0.hold(true) }
        defer { onStack { $0.hold(false) } }
        do throws(BLEError) {
            try await serve(monitors, of: scan)
            self.scan = scan
            _ = try await stack.call(
                BlueZ.call(scan.adapter, BlueZ.monitorManager, "RegisterMonitor", .objectPath(scan.root)),
                during: .discovery)
            try await activation(of: scan)
        } catch {
            if self.scan?.root == scan.root {
                self.scan = before
            } else if let before {
                await end(before)
            }
            if error.code == .notSupported {
                // bluetoothd has released the monitors. bluetoothd 5.66 crashes if a monitor that it has released is
                // unregistered.
                await scan.monitors.stop()
            } else {
                await end(scan)
            }
            throw Self.refusal(error)
        }
        if let before { await end(before) }
    }

    /// Stops the passive scan. Does nothing if there is none.
    func stop() async {
        guard let scan else { return }
        self.scan = nil
        await end(scan)
    }

    /// Ends the passive scan because the adapter is off or bluetoothd has stopped. A running bluetoothd keeps its
    /// monitors while the adapter is off.
    func forget() {
        guard let scan else { return }
        self.scan = nil
        scan.isActive.deliver(
            .failure(
                onStack { $0.adapterState } == .poweredOff
                    ? BLEError(.poweredOff, "the adapter was switched off") : unavailable))
        Task { await self.end(scan) }
    }

    private func end(_ scan: PassiveScan) async {
        _ = try? await stack.call(
            BlueZ.call(scan.adapter, BlueZ.monitorManager, "UnregisterMonitor", .objectPath(scan.root)),
            during: .discovery)
        await scan.monitors.stop()
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
        guard let scan, scan.root == root else { return }
        switch call.method {
        case "Activate":
            self.scan?.waiting.remove(call.path)
            if self.scan?.waiting.isEmpty == true { scan.isActive.deliver(.success(())) }
        case "Release": await released(scan)
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
        guard scan?.waiting.isEmpty == true else {
            released.isActive.deliver(.failure(error))
            return
        }
        // Powering off also releases the monitors, and is reported separately.
        guard (try? await clock.sleep(for: .seconds(2))) != nil, scan?.root == released.root,
            isPoweredOn
        else { return }
        scan = nil
        await released.monitors.stop()
        report(.ended(error))
    }
}
