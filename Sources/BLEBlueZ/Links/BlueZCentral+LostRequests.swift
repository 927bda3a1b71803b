internal import BLE
internal import DBus
internal import Logging
internal import Waiting

extension BlueZCentral {
    /// The number of later calls that bluetoothd answers before an unanswered request counts as lost. bluetoothd
    /// handles the end of the channel, when it fails the other requests, together with the end of the link or just
    /// after.
    private static let lastAnswers = 3

    /// Handles the end of a device's link: looks for requests that are lost with it.
    func findLostRequests(_ device: String) {
        guard objects.adapters[adapterPath]?.version?.losesWaitingRequests ?? true, objects.devices[device] != nil,
            !lostRequests.isSearching(device)
        else { return }
        let unanswered = onStack { $0.unansweredRequests(ofDevice: device) }
        guard !unanswered.isEmpty else { return }
        lostRequests.begin(
            Task {
                await self.search(device, unanswered)
                lostRequests.end(ofDevice: device)
                waits.look(device)
            }, ofDevice: device)
    }

    private func search(_ device: String, _ unanswered: [PendingCall]) async {
        // If the connection to the bus ends meanwhile, nothing will be answered over it.
        for _ in 1...Self.lastAnswers { try? await stack.fence() }
        onStack { $0.lose(unanswered, .remote("org.bluez.Error.Failed", "Not connected")) }
        let lost = unanswered.filter(\.isLost)
        guard !lost.isEmpty else { return }
        logger.debug("bluetoothd has lost requests", metadata: ["device": "\(device)", "count": "\(lost.count)"])
        lostRequests.add(lost, ofDevice: device)
        await stopLostNotifications(device)
    }

    /// Waits until a device can be connected to, and makes bluetoothd forget it if it has lost requests of the device:
    /// then it is found anew, and its attributes can be used on the next link.
    ///
    /// Not earlier: meanwhile, the device may be found or connected to by other programs.
    func recoverLostRequests(_ device: String) async throws(BLEError) {
        try await waits.wait(forObject: device, clock: configuredClock) { () throws(BLEError) in
            self.lostRequests.isSearching(device) ? nil : ()
        }
        await forgetLostRequests(device)
    }

    /// Handles all lost requests, because the program is about to leave the bus.
    func recoverLostRequests() async {
        for task in lostRequests.tasks { await task.value }
        for device in lostRequests.devices { await forgetLostRequests(device) }
    }

    private func forgetLostRequests(_ device: String) async {
        await stopLostNotifications(device)
        let lost = lostRequests.all(ofDevice: device)
        guard !lost.isEmpty else { return }
        let isDisposable = await isDisposable(device)
        logger.debug(
            "a device has lost requests", metadata: ["device": "\(device)", "isForgotten": "\(isDisposable)"])
        guard isDisposable else { return }
        var call = BlueZ.call(adapterPath, BlueZ.adapter, "RemoveDevice", .objectPath(device))
        // While this call waits for its turn, the device may be connected or paired.
        call.onTurn = { [weak self] in
            self?.assumeIsolated { $0.isUnused(device) ? nil : MethodReply() } ?? nil
        }
        _ = try? await stack.call(call, during: .setting)
        try? await stack.fence()
    }

    /// Ends the notifications whose start is lost. bluetoothd would start them again on the next link, or holds the
    /// characteristic for a socket that it has never made.
    private func stopLostNotifications(_ device: String) async {
        for call in lostRequests.all(ofDevice: device) where ["StartNotify", "AcquireNotify"].contains(call.method) {
            // Without a link, no other program has a socket.
            let hasSocket = call.method == "AcquireNotify" && !isConnected(device)
            let id = Peripheral.ID(devicePath: device)
            let stopping: Void? = try? await stopNotifying(call.path, id, hasSocket: hasSocket)
            guard stopping != nil, onStack({ $0.isRunning }) else { return }
            lostRequests.remove(call, ofDevice: device)
        }
    }

    /// Whether bluetoothd can forget a device without the loss of a link, a bond, what a user has set, or the
    /// notifications of other programs.
    private func isDisposable(_ path: String) async -> Bool {
        let call = BlueZ.call(path, BlueZ.properties, "GetAll", .string(BlueZ.device))
        guard let properties = try? await stack.call(call, during: .setting).values.first,
            let device = objects.devices[path]
        else { return false }
        // Unless it is set, the alias is the name, or the address.
        let alias = properties[key: "Alias"]?.string
        let defaults = [nil, properties[key: "Name"]?.string, String(device.address.map { $0 == ":" ? "-" : $0 })]
        return defaults.contains(alias) && isUnused(path)
    }

    /// Whether bluetoothd has a device without a link, a bond, what a user has allowed or forbidden, or the
    /// notifications of other programs.
    private func isUnused(_ path: String) -> Bool {
        guard let device = objects.devices[path] else { return false }
        return !device.isConnected && !device.isPaired && !device.isBonded && !device.isTrusted && !device.isBlocked
            && usesOfOthers(device.id, path) == 0
    }
}
