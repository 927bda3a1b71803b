/// A way for packets to a characteristic that a backend has opened: writes without response, past the queue of operations.
///
/// May be used from any task.
public protocol PacketChannel: Sendable {
    /// The longest packet, in bytes. Longer ones would be dropped silently.
    var maximumLength: Int { get }

    /// Sends a packet; false when there is no room for it now. Never waits.
    ///
    /// Throws `disconnected` when the channel has ended.
    func send(_ packet: [UInt8]) throws(BLEError) -> Bool

    /// Returns when there may be room. Throws `disconnected` when the channel has ended, `cancelled` with its task.
    func room() async throws(BLEError)

    /// Ends the channel.
    func close()
}
