internal import BLE
internal import DBus
internal import Logging

extension BlueZCentral {
    /// The number of later calls that bluetoothd answers before an unanswered request counts as lost. bluetoothd
    /// handles the end of the channel, when it fails the other requests, together with the end of the link or just
    /// after.
    private static let lastAnswers = 3

    /// Handles the end of a device's link: looks for requests that were lost with the link. If there are any, makes
    /// bluetoothd forget the device, so that the attributes can be used on the next link.
    func recoverLostRequests(_ device: String) {
        guard objects.adapters[adapterPath]?.version?.losesWaitingRequests ?? true, objects.devices[device] != nil,
            !lostRequests.isRecovering(device), onHost({ !$0.unansweredRequests(ofDevice: device).isEmpty })
        else { return }
        lostRequests.begin(
            Task {
                await self.recover(device)
                lostRequests.end(ofDevice: device)
                waits.look(device)
            }, ofDevice: device)
    }

    /// Waits until a device can be connected to.
    func waitForRecovery(_ device: String) async throws(BLEError) {
        try await waits.wait(forObject: device, clock: configuredClock) { () throws(BLEError) in
            self.lostRequests.isRecovering(device) ? nil : ()
        }
    }

    /// Waits for all recoveries, because the program is about to leave the bus.
    func endRecoveries() async {
        for task in lostRequests.tasks { await task.value }
    }

    private func recover(_ path: String) async {
        for _ in 1...Self.lastAnswers {
            guard (try? await host.fence()) != nil else { return }
        }
        let lost = onHost { $0.unansweredRequests(ofDevice: path) }
        guard !lost.isEmpty, let id = objects.devices[path]?.id else { return }
        let isDisposable = await isDisposable(path)
        logger.debug(
            "bluetoothd has lost requests",
            metadata: ["peripheral": "\(id)", "count": "\(lost.count)", "forgets": "\(isDisposable)"])
        if isDisposable {
            let call = BlueZ.call(adapterPath, BlueZ.adapter, "RemoveDevice", .objectPath(path))
            _ = try? await host.call(call, during: .setting)
            try? await host.fence()
        }
        if objects.devices[path] != nil { lostRequests.add(Set(lost.map(\.path)), ofDevice: path) }
        onHost { $0.lose(lost) }
    }

    /// Whether bluetoothd can forget a device without the loss of a link, a bond, or what a user has set.
    private func isDisposable(_ path: String) async -> Bool {
        let call = BlueZ.call(path, BlueZ.properties, "GetAll", .string(BlueZ.device))
        guard let properties = try? await host.call(call, during: .setting).values.first,
            let device = objects.devices[path]
        else { return false }
        // Unless it is set, the alias is the name, or the address.
        let alias = properties[key: "Alias"]?.string
        let defaults = [nil, properties[key: "Name"]?.string, String(device.address.map { $0 == ":" ? "-" : $0 })]
        return defaults.contains(alias) && !device.isConnected && !device.isPaired && !device.isBonded
            && !device.isTrusted && !device.isBlocked
    }
}
