internal import BLE

extension TransferLink {
    /// A link over an open channel, whose packets are read from now on.
    ///
    /// - Parameter window: the bytes that the other side may send.
    static func channel(_ channel: L2CAPChannel, window: Int, clock: any Clock<Duration>) -> TransferLink {
        let inbox = PacketInbox(window: window)
        let reading = Task {
            do throws(BLEError) {
                for try await packet in channel.packets {
                    guard try await inbox.add(packet) else { return }
                }
                inbox.finish(BLEError(.disconnected, "the other side has closed the channel"))
            } catch {
                inbox.finish(error)
            }
        }
        return TransferLink(
            inbox: inbox, clock: clock,
            packetLength: { min(channel.maximumLength, maximumChannelPacketLength) },
            window: { window },
            send: { (packet) throws(BLEError) in try await channel.send(packet) },
            close: {
                reading.cancel()
                inbox.finish(BLEError(.disconnected, "the channel was closed"))
                channel.close()
            })
    }
}
