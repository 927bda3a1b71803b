internal import BLE
internal import Synchronization

/// A socket for writes whose packets are recorded.
struct RecordingSink: PacketSink {
    let base: any PacketSink
    let recorder: RecorderLine
    let call: Int

    var maximumLength: Int { base.maximumLength }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let isSent = try base.send(packet)
        if isSent { recorder.event(RecordedEntry(.packetSent, call: call, value: packet)) }
        return isSent
    }

    func waitForRoom() async throws(BLEError) { try await base.waitForRoom() }
    func close() { base.close() }
}

/// An L2CAP channel whose packets are recorded.
final class RecordingTransport: ChannelTransport {
    private let base: any ChannelTransport
    private let recorder: RecorderLine
    private let call: Int
    private let peripheral: Peripheral.ID
    private let hasEnded = Atomic(false)
    /// Whether the link is gone: the reason follows.
    private let isLost = Atomic(false)

    init(base: any ChannelTransport, recorder: RecorderLine, call: Int, peripheral: Peripheral.ID) {
        (self.base, self.recorder, self.call, self.peripheral) = (base, recorder, call, peripheral)
    }

    /// The end of a channel that this side closes.
    private static let closed = BLEError(
        .disconnected, "the channel was closed on this side", disconnectReason: .local)

    /// Records the end of the channel, once.
    private func end(_ error: BLEError?) {
        guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
        recorder.event(RecordedEntry(.channelEnded, call: call, peripheral: peripheral, error: error))
    }

    var maximumLength: Int { base.maximumLength }
    var maximumReceiveLength: Int { base.maximumReceiveLength }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let isSent = try base.send(packet)
        if isSent { recorder.event(RecordedEntry(.packetSent, call: call, value: packet)) }
        return isSent
    }

    func start(
        deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void
    ) {
        let (recorder, call) = (recorder, call)
        base.start(
            deliver: { packet in
                recorder.event(RecordedEntry(.packetReceived, call: call, value: packet))
                return deliver(packet)
            },
            onEnd: { [self] error in
                end(error)
                onEnd(error)
            })
    }

    func waitForRoom() async throws(BLEError) { try await base.waitForRoom() }
    func hasUnsentPackets() throws(BLEError) -> Bool { try base.hasUnsentPackets() }
    func drain() {
        isLost.store(true, ordering: .relaxed)
        base.drain()
    }

    func resume() { base.resume() }

    func close() {
        if !isLost.load(ordering: .relaxed) { end(Self.closed) }
        base.close()
    }
}
