internal import BLE

/// A socket for writes whose packets are recorded.
struct RecordingSink: PacketSink {
    let base: any PacketSink
    let recorder: Recorder
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
struct RecordingTransport: ChannelTransport {
    let base: any ChannelTransport
    let recorder: Recorder
    let call: Int
    let peripheral: Peripheral.ID

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
        let (recorder, call, peripheral) = (recorder, call, peripheral)
        base.start(
            deliver: { packet in
                recorder.event(RecordedEntry(.packetReceived, call: call, value: packet))
                return deliver(packet)
            },
            onEnd: { error in
                recorder.event(RecordedEntry(.channelEnded, call: call, peripheral: peripheral, error: error))
                onEnd(error)
            })
    }

    func waitForRoom() async throws(BLEError) { try await base.waitForRoom() }
    func hasUnsentPackets() throws(BLEError) -> Bool { try base.hasUnsentPackets() }
    func drain() { base.drain() }
    func resume() { base.resume() }
    func close() { base.close() }
}
