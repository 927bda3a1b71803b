internal import BLE
internal import DBus

extension BlueZRole {
    /// The address of the adapter in use.
    func ownAddress() throws(BLEError) -> ChannelAddress {
        guard let adapter = objects.adapters[adapterPath], !adapter.address.isEmpty else { throw unavailable }
        return ChannelAddress(adapter.address, isRandom: adapter.isAddressRandom)
    }

    /// Returns a channel over a connected socket.
    func transport(_ socket: ChannelSocket, device: String) -> SocketTransport {
        SocketTransport(socket, loop: host.loop) { [weak self] in
            guard let self else { return .shutDown }
            return await reasonOfEnd(device)
        }
    }

    /// Returns why a channel has ended: with its link, or nil if the other side has closed it.
    ///
    /// The kernel tells bluetoothd of the end of a link before it closes the link's sockets, but bluetoothd may not have
    /// read that yet: it handles its second request in a later turn of its loop.
    private func reasonOfEnd(_ device: String) async -> BLEError? {
        do throws(BLEError) {
            try await host.refresh(device)
            try await host.refresh(device)
        } catch {
            return BLEError(.disconnected, "the channel ended", cause: error)
        }
        return isConnected(device) ? nil : BLEError(.disconnected, "the link ended", disconnectReason: .unknown)
    }
}
