import BLE
import BLETestSupport
import Synchronization

/// A channel of a `BumbleCentral`.
///
/// Sent packets wait for their turn here, because the peer takes one after the other. Closing waits for them, because
/// this side does not know whether they have left.
final class BumbleChannel: ChannelTransport {
    let maximumLength: Int
    let maximumReceiveLength: Int
    private let central: BumbleCentral
    /// The channel's number at the peer.
    private let number: Int
    private let incoming = Mutex(Incoming())
    private let outgoing = SharedValue(Outgoing())

    /// The number of packets that wait to be sent.
    private static let capacity = 32
    private static let ended = BLEError(.disconnected, "the channel has ended")

    private struct Incoming {
        var arrived: [[UInt8]] = []
        var isPaused = false
        var isClosed = false
        /// The end of the channel for this side, which is reported after the last packet.
        var end: Result<Void, BLEError>?
        var deliver: (@Sendable ([UInt8]) -> Bool)?
        var onEnd: (@Sendable (BLEError?) -> Void)?
    }

    private struct Outgoing {
        var waiting: [[UInt8]] = []
        /// Whether a task sends the waiting packets.
        var isSending = false
        /// Whether the channel takes no further packets.
        var hasEnded = false
        var isClosed = false
    }

    init(_ central: BumbleCentral, number: Int, maximumLength: Int, maximumReceiveLength: Int) {
        self.central = central
        self.number = number
        self.maximumLength = maximumLength
        self.maximumReceiveLength = maximumReceiveLength
    }

    // MARK: Receiving

    func start(
        deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void
    ) {
        incoming.withLock { ($0.deliver, $0.onEnd) = (deliver, onEnd) }
        pump()
    }

    /// Takes a packet of the host. In the central's isolation.
    func take(_ packet: [UInt8]) {
        incoming.withLock { state in
            guard !state.isClosed else { return }
            state.arrived.append(packet)
        }
        pump()
    }

    func resume() {
        // In the central's isolation, because the delivery that found no room may not have returned yet.
        Task { [central] in
            await central.perform {
                self.incoming.withLock { $0.isPaused = false }
                self.pump()
            }
        }
    }

    func drain() { pump(isDraining: true) }

    /// Delivers packets that have arrived, while there is room. Only in the central's isolation, so that the order is
    /// kept.
    private func pump(isDraining: Bool = false) {
        central.assertIsolated()
        while true {
            let next: (packet: [UInt8], deliver: @Sendable ([UInt8]) -> Bool)? = incoming.withLock { state in
                guard let deliver = state.deliver, isDraining || !state.isPaused, !state.arrived.isEmpty else {
                    return nil
                }
                return (state.arrived.removeFirst(), deliver)
            }
            guard let next else { break }
            if !next.deliver(next.packet) { incoming.withLock { $0.isPaused = true } }
        }
        let ended: (end: Result<Void, BLEError>, onEnd: @Sendable (BLEError?) -> Void)? = incoming.withLock { state in
            guard state.arrived.isEmpty, let end = state.end, let onEnd = state.onEnd else { return nil }
            (state.deliver, state.onEnd) = (nil, nil)
            return (end, onEnd)
        }
        guard let ended else { return }
        switch ended.end {
        case .success: ended.onEnd(nil)
        case .failure(let error): ended.onEnd(error)
        }
    }

    // MARK: Sending

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let answer = outgoing.change { state -> (isTaken: Bool, isFirst: Bool)? in
            guard !state.hasEnded else { return nil }
            guard state.waiting.count < Self.capacity else { return (false, false) }
            state.waiting.append(packet)
            defer { state.isSending = true }
            return (true, !state.isSending)
        }
        guard let answer else { throw Self.ended }
        if answer.isFirst { Task { await sendWaiting() } }
        return answer.isTaken
    }

    func waitForRoom() async throws(BLEError) {
        do {
            try await outgoing.until { $0.hasEnded || $0.waiting.count < Self.capacity }
        } catch {
            throw BLEError.cancelled
        }
        if outgoing.value.hasEnded { throw Self.ended }
    }

    private func sendWaiting() async {
        while let packet = nextWaiting() {
            do throws(BLEError) {
                try await central.send(packet, on: number)
            } catch {
                stopSending()
            }
        }
        if outgoing.value.isClosed { await central.closeChannel(number) }
    }

    private func nextWaiting() -> [UInt8]? {
        outgoing.change { state -> [UInt8]? in
            guard !state.waiting.isEmpty else {
                state.isSending = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func stopSending() { outgoing.change { ($0.hasEnded, $0.waiting) = (true, []) } }

    // MARK: Ending

    /// Ends the channel: without an error if the host has closed it. In the central's isolation.
    func end(_ error: BLEError?) {
        stopSending()
        incoming.withLock { state in
            guard state.end == nil else { return }
            if let error { state.end = .failure(error) } else { state.end = .success(()) }
        }
        pump()
    }

    func close() {
        incoming.withLock { state in
            (state.isClosed, state.deliver, state.onEnd, state.arrived) = (true, nil, nil, [])
        }
        let isIdle = outgoing.change { state -> Bool in
            (state.hasEnded, state.isClosed) = (true, true)
            return !state.isSending
        }
        if isIdle { Task { [central, number] in await central.closeChannel(number) } }
    }
}
