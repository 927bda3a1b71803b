internal import BLE
internal import Waiting

/// What carries the packets of a transfer: a channel, or a pair of characteristics.
struct TransferLink: Sendable {
    /// The packets that have arrived.
    let inbox: PacketInbox
    let clock: any Clock<Duration>
    /// The maximum length of a packet that can be sent, in bytes.
    let packetLength: @Sendable () -> Int
    /// The maximum number of bytes that the other side may send before they are stored.
    let window: @Sendable () -> Int
    /// Sends a packet.
    let send: @Sendable ([UInt8]) async throws(BLEError) -> Void
    /// Ends the use of the carrier. The link may stay.
    let close: @Sendable () async -> Void

    /// The maximum length of a packet, which is also the most that a value has.
    static let maximumValueLength = 512
    /// The maximum length of a packet over a channel. Longer ones gain nothing.
    static let maximumChannelPacketLength = 4096

    /// Sends a message that ends a transfer, also in a cancelled task, and does not wait for long.
    func sendLast(_ packet: TransferPacket) async {
        await Task { [send, clock] in
            _ = try? await Outcome<Void>.race(within: .seconds(2), clock: clock) {
                BLEError(.timedOut, "the message was not taken")
            } _: { () throws(BLEError) in
                try await send(packet.bytes)
            }
        }.value
    }
}
