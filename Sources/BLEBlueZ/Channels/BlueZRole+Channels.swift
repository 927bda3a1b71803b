internal import BLE

extension BlueZRole {
    /// The address of the adapter in use.
    func ownAddress() throws(BLEError) -> ChannelAddress {
        guard let adapter = objects.adapters[adapterPath], !adapter.address.isEmpty else { throw unavailable }
        return ChannelAddress(adapter.address, isRandom: adapter.isAddressRandom)
    }

    /// Returns a channel over a connected socket.
    func transport(_ socket: ChannelSocket, device: String) -> SocketChannelTransport {
        SocketChannelTransport(socket, loop: stack.loop) { [weak self] in
            guard let self else { return .shutDown }
            return await reasonOfEnd(device)
        }
    }

    /// Returns the reason for the end of a channel: the end of its link, or nil if the other side has closed the
    /// channel.
    ///
    /// The kernel reports the end of a link to bluetoothd before it closes the link's sockets, but bluetoothd may not
    /// have read that yet. Therefore it is asked twice: it handles the second request in a later turn of its loop.
    private func reasonOfEnd(_ device: String) async -> BLEError? {
        do throws(BLEError) {
            try await stack.refresh(device)
            try await stack.refresh(device)
        } catch {
            return BLEError(.disconnected, "the channel ended", cause: error)
        }
        return isConnected(device) ? nil : BLEError(.disconnected, "the link ended", disconnectReason: .unknown)
    }
}
