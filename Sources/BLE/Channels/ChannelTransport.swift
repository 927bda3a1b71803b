/// A backend's end of an open L2CAP channel.
public protocol ChannelTransport: PacketSink {
    /// The maximum length of a received packet, in bytes.
    var maximumReceiveLength: Int { get }

    /// Starts to deliver packets, in order. Called once, in the backend's isolation; packets that arrive earlier wait.
    ///
    /// - Parameters:
    ///   - deliver: receives each packet, in the backend's isolation. Returns false if there is no room for another;
    ///     further packets then wait until ``resume()``, and so does the other side when its credits are used up.
    ///   - onEnd: called once, in the backend's isolation, after the last packet: without an error if the other side
    ///     has closed the channel. Not called after ``PacketSink/close()``.
    func start(
        deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void)

    /// Delivers everything that has arrived, even without room. Called in the backend's isolation, before
    /// ``PacketSink/close()`` when the link has ended.
    func drain()

    /// Resumes delivery, because there is room again. May be called from any thread.
    func resume()

    /// Returns whether packets that were sent still wait in this system. May be called from any thread.
    ///
    /// Throws `disconnected` if the channel has ended: what waited then is lost.
    func hasUnsentPackets() throws(BLEError) -> Bool
}

extension ChannelTransport {
    /// Returns false, for a transport that hands packets over at once.
    public func hasUnsentPackets() throws(BLEError) -> Bool { false }
}

/// What an end of an L2CAP channel asks for.
public struct ChannelOptions: Hashable, Sendable {
    /// The security that the link must have. With less, the system pairs, or the channel is refused.
    public var security: AttributeSecurity
    /// The maximum length of a received packet (the MTU of this side), in bytes, 23 to 65,535.
    public var maximumReceiveLength: Int

    /// Creates options. 2048 bytes are what most systems offer.
    public init(security: AttributeSecurity = .open, maximumReceiveLength: Int = 2048) {
        self.security = security
        self.maximumReceiveLength = maximumReceiveLength
    }

    /// Throws `invalidArgument` for lengths that L2CAP does not allow, and for a PSM that is not one of an LE channel.
    func check(_ psm: PSM?) throws(BLEError) {
        // Core Specification 5.4, volume 3, part A, section 4.22.
        guard 23...65535 ~= maximumReceiveLength else {
            throw BLEError(
                .invalidArgument, "a channel receives packets of 23 to 65535 bytes, not \(maximumReceiveLength)",
                isRetryable: false)
        }
        if let psm, !(PSM.valid ~= psm) {
            throw BLEError(
                .invalidArgument, "\(psm) is not the PSM of an LE channel", isRetryable: false,
                remedy: "It is 0x0001 to 0x00FF.")
        }
    }
}
