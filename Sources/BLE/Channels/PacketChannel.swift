/// An open channel for writes without response to a characteristic, independent of the queue of operations.
///
/// It may be used from any task.
public protocol PacketChannel: Sendable {
    /// The maximum length of a packet, in bytes. Longer packets would be dropped silently.
    var maximumLength: Int { get }

    /// Sends a packet. Returns false if there is no room for it. Never waits.
    ///
    /// Throws `disconnected` if the channel has ended.
    func send(_ packet: [UInt8]) throws(BLEError) -> Bool

    /// Waits until there may be room. Throws `disconnected` if the channel has ended, and `cancelled` if the task is
    /// cancelled.
    func waitForRoom() async throws(BLEError)

    /// Closes the channel.
    func close()
}
