internal import BLE
internal import DBus
internal import Logging

/// A passive scan: what bluetoothd is to call when it hears what it was asked to listen for.
struct PassiveScan {
    /// The object that was registered.
    let root: String
    /// The adapter that it was registered with.
    let adapter: String
    /// What is served, to be taken back.
    var exports: [UInt32] = []
    /// The monitors that are not active yet.
    var waiting: Set<String> = []
    /// All are active, or one was refused.
    let isActive = Outcome<Void>()
}

/// Listening without asking, by `org.bluez.AdvertisementMonitor1`.
///
/// bluetoothd fetches the monitors from an object served here and says of each whether it has been activated; the answer of
/// `RegisterMonitor` does not tell. Without limits of strength `DeviceFound` comes with every advertisement
/// (`adv_monitor_filter_rssi` in BlueZ's `src/adv_monitor.c`), which makes it the sign of life that a scan needs.
extension BlueZBackend {
    private static let monitor = "org.bluez.AdvertisementMonitor1"
    private static let managerDescription = InterfaceDescription(
        xml: """
            <interface name="org.freedesktop.DBus.ObjectManager">
              <method name="GetManagedObjects"><arg type="a{oa{sa{sv}}}" direction="out"/></method>
            </interface>
            """)
    private static let monitorDescription = InterfaceDescription(
        xml: """
            <interface name="\(monitor)">
              <method name="Release"/>
              <method name="Activate"/>
              <method name="DeviceFound"><arg type="o" direction="in"/></method>
              <method name="DeviceLost"><arg type="o" direction="in"/></method>
              <property name="Type" type="s" access="read"/>
              <property name="Patterns" type="a(yyay)" access="read"/>
            </interface>
            """)

    /// Whether anything that is heard is to be reported.
    var isListening: Bool { isDiscovering || passiveScan != nil }

    /// Listens for what the filter says; an earlier passive scan ends when this one has begun.
    func startPassiveScan(_ filter: DiscoveryFilter) async throws(BLEError) {
        let before = passiveScan
        lastPassiveScan += 1
        var scan = PassiveScan(root: "/swift_ble/monitor\(lastPassiveScan)", adapter: adapter)
        do throws(BLEError) {
            try await serve(&scan, AdvertisementPattern.monitors(for: filter))
            passiveScan = scan
            _ = try await call(
                BlueZ.call(adapter, BlueZ.monitorManager, "RegisterMonitor", .objectPath(scan.root)),
                during: .discovery, timeout: Self.promptly)
            try await activation(of: scan)
        } catch {
            if passiveScan?.root == scan.root {
                passiveScan = before
            } else if let before {
                await end(before)
            }
            if error.code == .notSupported {
                // Released: bluetoothd 5.66 dies when it is told to forget a monitor that it has released itself.
                await withdraw(scan)
            } else {
                await end(scan)
            }
            throw Self.refusal(error)
        }
        if let before { await end(before) }
    }

    func stopPassiveScan() async {
        guard let scan = passiveScan else { return }
        passiveScan = nil
        await end(scan)
    }

    /// The adapter is off, or bluetoothd gone. A bluetoothd that is there keeps its monitors while the adapter is off.
    func forgetPassiveScan() {
        guard let scan = passiveScan else { return }
        passiveScan = nil
        scan.isActive.deliver(
            .failure(
                isRunning && tree.adapters[adapter] != nil
                    ? BLEError(.poweredOff, "the adapter was switched off") : unavailable))
        Task { await self.end(scan) }
    }

    private func end(_ scan: PassiveScan) async {
        _ = try? await call(
            BlueZ.call(scan.adapter, BlueZ.monitorManager, "UnregisterMonitor", .objectPath(scan.root)),
            during: .discovery, timeout: Self.promptly)
        await withdraw(scan)
    }

    private func activation(of scan: PassiveScan) async throws(BLEError) {
        let timer = Task { [clock] in
            guard (try? await clock.sleep(for: Self.promptly)) != nil else { return }
            scan.isActive.deliver(.failure(BLEError(.timedOut, "bluetoothd did not begin to listen")))
        }
        defer { timer.cancel() }
        try await scan.isActive.wait()
    }

    /// A daemon without the interface says so in the bus's words.
    private static func refusal(_ error: BLEError) -> BLEError {
        let missing = ["UnknownMethod", "UnknownInterface", "UnknownObject"].map { "org.freedesktop.DBus.Error.\($0)" }
        guard let name = error.busErrorName, missing.contains(name) else { return error }
        return BLEError(
            .notSupported, "this bluetoothd does not offer passive scanning", busErrorName: name,
            remedy: "Start it with --experimental, or set Experimental=true in /etc/bluetooth/main.conf; it also takes "
                + "Linux 5.10 or newer.", cause: error.cause)
    }

    // MARK: What is served

    private func serve(
        _ scan: inout PassiveScan, _ monitors: [[AdvertisementPattern]]
    ) async throws(BLEError) {
        let root = scan.root
        var objects: [DBusValue: DBusValue] = [:]
        for (number, patterns) in monitors.enumerated() {
            let path = "\(root)/\(number)"
            let properties: [String: DBusValue] = [
                "Type": .string("or_patterns"), "Patterns": AdvertisementPattern.array(patterns),
            ]
            objects[.objectPath(path)] = .dictionary(
                key: "s", value: "a{sv}", [.string(Self.monitor): .options(properties)])
            scan.waiting.insert(path)
            scan.exports.append(
                try await export(
                    ExportedObject(path: path, interface: Self.monitorDescription) { [weak self] call in
                        await self?.monitorCalled(call, root)
                        return .success(MethodReply())
                    } property: { name in
                        properties[name]
                    }))
        }
        let all = DBusValue.dictionary(key: "o", value: "a{sa{sv}}", objects)
        scan.exports.append(
            try await export(
                ExportedObject(path: root, interface: Self.managerDescription) { _ in .success(MethodReply([all])) }))
    }

    private func monitorCalled(_ call: IncomingCall, _ root: String) async {
        guard passiveScan?.root == root, let scan = passiveScan else { return }
        switch call.method {
        case "Activate":
            passiveScan?.waiting.remove(call.path)
            if passiveScan?.waiting.isEmpty == true { scan.isActive.deliver(.success(())) }
        case "Release": await released(scan)
        case "DeviceFound":
            guard let path = call.arguments.first?.string else { return }
            // The signal that makes it known may be still on its way.
            if tree.devices[path]?.isHeard != true { try? await refresh(path) }
            reportHeard(path)
        default: break  // That a device is lost is the central's to judge.
        }
    }

    /// bluetoothd, the kernel or the controller does not listen, or no longer.
    private func released(_ scan: PassiveScan) async {
        let error = BLEError(
            .notSupported, "bluetoothd or the kernel does not scan passively, or no longer", remedy: "Scan actively.")
        guard passiveScan?.waiting.isEmpty == true else {
            scan.isActive.deliver(.failure(error))
            return
        }
        // An adapter that is being switched off releases, too, and says so itself.
        guard (try? await sleep(.seconds(2))) != nil, passiveScan?.root == scan.root, adapterState() == .poweredOn
        else {
            return
        }
        passiveScan = nil
        await withdraw(scan)
        report(.scanEnded(error))
    }

    private func reportHeard(_ path: String) {
        guard isListening, let id = id(ofDevice: path), let device = tree.devices[path], device.isHeard
        else { return }
        report(.advertisement(id, device.advertisement))
    }
}
