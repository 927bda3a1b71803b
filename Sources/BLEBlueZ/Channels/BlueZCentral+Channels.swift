public import BLE
internal import Waiting

extension BlueZCentral {
    /// Connects an L2CAP socket of the kernel over the link that bluetoothd has made.
    public func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> any ChannelTransport {
        let path = try path(of: peripheral)
        // Without a link, the kernel would make one itself, without bluetoothd.
        guard isConnected(path), let device = objects.devices[path] else {
            throw BLEError(.disconnected, "there is no link")
        }
        let peer = ChannelAddress(device.address, isRandom: device.advertisement.addressType != .public)
        let socket = try await stack.channelSockets.connect(
            from: try ownAddress(), to: peer, psm, options, on: stack.loop, isolation: self)
        return transport(socket, device: path)
    }
}
