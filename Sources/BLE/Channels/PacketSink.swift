/// What takes packets without a reply, past the queue of operations: a characteristic's writes without response, or an
/// open L2CAP channel (``ChannelTransport``).
///
/// It may be used from any task.
public protocol PacketSink: Sendable {
    /// The maximum length of a packet, in bytes. Longer packets would be dropped silently.
    var maximumLength: Int { get }

    /// Sends a packet. Returns false if there is no room for it. Never waits.
    ///
    /// Throws `disconnected` if it has ended.
    func send(_ packet: [UInt8]) throws(BLEError) -> Bool

    /// Waits until there may be room. Throws `disconnected` if it has ended, and `cancelled` if the task is cancelled.
    func waitForRoom() async throws(BLEError)

    /// Closes it.
    func close()
}
