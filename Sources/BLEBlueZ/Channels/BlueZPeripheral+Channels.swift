public import BLE
internal import Logging

extension BlueZPeripheral {
    /// Listens on an L2CAP socket of the kernel, which outlives bluetoothd.
    public func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions,
        accept: @escaping @Sendable (any ChannelTransport, Peripheral.ID, PSM) -> Void
    ) async throws(BLEError) -> PSM {
        let channel = try await host.channelSockets.listen(
            at: try ownAddress(), psm, options, on: host.loop,
            accept: { [weak self] socket, address, psm in
                self?.assumeIsolated { peripheral in
                    let device = peripheral.path(ofCentral: address)
                    accept(peripheral.transport(socket, device: device), Peripheral.ID(devicePath: device), psm)
                }
            },
            onFailure: { [weak self] error, psm in self?.assumeIsolated { $0.listeningFailed(psm, error) } },
            isolation: self)
        // The role may have been shut down meanwhile.
        guard isStarted else {
            channel.close()
            throw .shutDown
        }
        listening[channel.psm] = channel
        return channel.psm
    }

    /// Closes the listening socket.
    public func unpublishChannel(_ psm: PSM) async { listening.removeValue(forKey: psm)?.close() }

    func unpublishChannels() {
        for channel in listening.values { channel.close() }
        listening = [:]
    }

    /// Returns the path of a central, which bluetoothd may not have told yet.
    private func path(ofCentral address: String) -> String {
        objects.device(address: address, adapter: adapterPath)
            ?? "\(adapterPath)/dev_\(String(address.map { $0 == ":" ? "_" : $0 }))"
    }

    private func listeningFailed(_ psm: PSM, _ error: BLEError) {
        // Otherwise, the socket would be reported again and again.
        logger.warning("no more channels are accepted", metadata: ["psm": "\(psm)", "error": "\(error)"])
        listening.removeValue(forKey: psm)?.close()
    }
}
