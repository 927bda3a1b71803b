package import BLE
package import Loop

/// The address of one end of an L2CAP channel.
package struct ChannelAddress: Hashable, Sendable {
    /// The device address, such as `F0:F1:F2:F3:F4:F5`.
    package var address: String
    /// Whether the address is random. A connection to a peripheral with the wrong address type fails.
    package var isRandom: Bool

    package init(_ address: String, isRandom: Bool) {
        self.address = address
        self.isRandom = isRandom
    }
}

/// A connected socket that preserves packet boundaries.
package struct ChannelSocket: Sendable {
    package let descriptor: FileDescriptor
    /// The maximum length of a packet that can be sent, in bytes.
    package let sendLength: Int
    /// The maximum length of a received packet, in bytes.
    package let receiveLength: Int

    package init(_ descriptor: FileDescriptor, sendLength: Int, receiveLength: Int) {
        self.descriptor = descriptor
        self.sendLength = sendLength
        self.receiveLength = receiveLength
    }
}

/// A number at which channels are accepted.
package struct ListeningChannel: Sendable {
    package let psm: PSM
    /// Stops accepting, and frees the number. Called on the loop's thread; more than once does nothing.
    package let close: @Sendable () -> Void

    package init(psm: PSM, close: @escaping @Sendable () -> Void) {
        self.psm = psm
        self.close = close
    }
}

/// Makes the sockets of L2CAP channels: the kernel's, or a test's.
package protocol ChannelSockets: Sendable {
    /// Connects a socket over an existing link. Called on the loop's thread.
    ///
    /// Throws `channelRefused`, `pairingRequired`, `disconnected`, `notSupported` and `cancelled`.
    func connect(
        from own: ChannelAddress, to peer: ChannelAddress, _ psm: PSM, _ options: ChannelOptions,
        on loop: EventLoop, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ChannelSocket

    /// Accepts channels at a number, or at a free one if none is given. Called on the loop's thread.
    ///
    /// Throws `busy`, `unauthorized` and `notSupported`.
    ///
    /// - Parameters:
    ///   - accept: receives each channel, the address of its central and the number, on the loop's thread.
    ///   - onFailure: called on the loop's thread if no more channels can be accepted at the number.
    func listen(
        at own: ChannelAddress, _ psm: PSM?, _ options: ChannelOptions, on loop: EventLoop,
        accept: @escaping @Sendable (ChannelSocket, String, PSM) -> Void,
        onFailure: @escaping @Sendable (BLEError, PSM) -> Void, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ListeningChannel
}
