import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// The discovery sessions of clients, and the radio's scan that they share.
extension FakeBlueZ {
    // MARK: Adapter1

    func startDiscovery(_ client: FakeClient) async -> Result<MethodReply, DBusError> {
        guard !client.isDiscovering else {
            return .failure(.bluez("InProgress", "Operation already in progress"))
        }
        client.isDiscovering = true
        discoveryChanged()
        // The daemon receives an advertisement, and crashes: BlueZ issue 2282.
        if minorVersion == 87, client.filter.hasServices { Task { await first.or(self).kill() } }
        do throws(BLEError) {
            try await startScan()
        } catch {
            client.isDiscovering = false
            discoveryChanged()
        }
        guard client.isDiscovering else {
            // The scan cannot begin, the client has left meanwhile, or the adapter is off. Others may have stopped
            // while this one was about to begin.
            Task { await endDiscovery() }
            return .failure(.bluez("Failed", "Failed to start discovery"))
        }
        // After the answer, as the kernel tells it.
        Task {
            isDiscoverySignaled = isDiscovering
            changed(adapterPath, BlueZ.adapter, ["Discovering": .boolean(isDiscovering)])
        }
        return .success(MethodReply())
    }

    /// Ends a client's session.
    func stopDiscovery(_ client: FakeClient) async {
        client.isDiscovering = false
        discoveryChanged()
        await endDiscovery()
    }

    /// Ends the scan after the last session, unless another one begins meanwhile, whose end comes here, too. Then no
    /// device is in range.
    private func endDiscovery() async {
        guard !isDiscovering else { return }
        await endUnusedScan()
        guard !isDiscovering, isDiscoverySignaled else { return }
        isDiscoverySignaled = false
        for device in devices.values where device.isInRange {
            let invalidated = device.advertisement.txPower == nil ? ["RSSI"] : ["TxPower", "RSSI"]
            devices[device.id]?.isInRange = false
            devices[device.id]?.advertisement.txPower = nil
            changed(device.path, BlueZ.device, [:], invalidated: invalidated)
        }
        changed(adapterPath, BlueZ.adapter, ["Discovering": .boolean(false)])
    }

    /// Sets a client's filter, also for a session that runs. An empty filter clears it.
    func setDiscoveryFilter(
        _ call: IncomingCall, _ client: FakeClient
    ) async -> Result<MethodReply, DBusError> {
        let options = call.arguments.first
        var filter = FakeClient.Filter()
        switch options?[key: "Transport"]?.string {
        case "le": filter.transport = .le
        case "bredr": filter.transport = .classic
        case "auto", nil: filter.transport = .any
        default:
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        (filter.rssi, filter.pathloss) = (options?[key: "RSSI"]?.integer, options?[key: "Pathloss"]?.integer)
        filter.hasServices = options?[key: "UUIDs"] != nil
        client.filter = filter
        if client.isDiscovering {
            discoveryChanged()
            try? await startScan()
        }
        return .success(MethodReply())
    }

    // MARK: The scan

    /// Whether any client has a discovery session.
    public var isDiscovering: Bool { discovery != nil }

    /// The clients whose filters have services.
    public var serviceFilters: Set<String> { Set(clients.filter { $0.value.filter.hasServices }.keys) }

    /// A session of a client has begun or ended, or its filter has changed.
    func discoveryChanged() {
        let wasDiscovering = isDiscovering
        discovery = FakeDiscovery(clients.values.filter(\.isDiscovering).map(\.filter))
        guard isDiscovering != wasDiscovering else { return }
        if isDiscovering, isKernelDiscovering {
            // The kernel has one discovery, and the daemon wants its own.
            kernelDiscovery = nil
            kernelManagement.tell(isDiscovering: false, adapter: name)
        }
        kernelManagement.tell(isDiscovering: isDiscovering, adapter: name)
    }

    /// The sessions of all clients have ended.
    func endDiscoveries() {
        for client in clients.values { client.isDiscovering = false }
        discoveryChanged()
        isDiscoverySignaled = false
    }

    /// Starts the radio's scan, or changes what it scans for. What has needed it may have ended before a fault lets the
    /// scan begin.
    func startScan() async throws(BLEError) {
        let filter = DiscoveryFilter(transport: hasMonitors ? .any : .le)
        try await backend.startDiscovery(discovery?.filter ?? filter)
        await endUnusedScan()
    }

    /// Ends the radio's scan unless a client's session or monitor, or a program's discovery in the kernel, needs it.
    func endUnusedScan() async {
        if discovery == nil, !hasMonitors, !isKernelDiscovering { try? await backend.stopDiscovery() }
    }

    /// Whether the kernel reports an advertisement. If every client sets a limit of signal strength, weaker
    /// advertisements and those of unknown strength are dropped (`is_filter_match` in Linux's `net/bluetooth/mgmt.c`).
    func passesKernel(_ advertisement: Advertisement) -> Bool {
        guard let minimum = discovery?.minimumRSSI else { return true }
        guard let rssi = advertisement.rssi else { return false }
        return rssi >= minimum
    }

    /// Whether the signal strength of an advertisement is shown: if it has changed by 8 dB, or small changes are shown,
    /// too (`device_set_rssi_with_delta` in the daemon's `src/device.c`).
    func showsSignalStrength(_ advertisement: Advertisement, of device: FakeDevice) -> Bool {
        let (before, now) = (device.advertisement.rssi ?? 127, advertisement.rssi ?? 127)
        return !device.isInRange || discovery?.showsSmallChanges == true || abs(before - now) >= 8
    }
}
