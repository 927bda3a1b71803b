internal import BLE
internal import Synchronization
internal import Waiting

/// A channel for writes without response. Packets wait in memory until the radio's executor sends them to the
/// peripheral.
final class SimulatedSink: PacketSink {
    let maximumLength: Int
    private let onPackets: @Sendable () -> Void
    private let onClose: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var packets: [[UInt8]] = []
        var isClosed = false
        var waiters: [Outcome<Void>] = []
    }

    /// - Parameters:
    ///   - onPackets: called when a packet starts to wait while no other is waiting.
    ///   - onClose: called once, when the channel is closed.
    init(maximumLength: Int, onPackets: @escaping @Sendable () -> Void, onClose: @escaping @Sendable () -> Void) {
        self.maximumLength = maximumLength
        self.onPackets = onPackets
        self.onClose = onClose
    }

    deinit { close() }

    private static let ended = BLEError(.disconnected, "the channel has ended")

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let sent: (isFirst: Bool, hasRoom: Bool)? = state.withLock { state in
            guard !state.isClosed else { return nil }
            guard state.packets.count < SimulatedSubscription.capacity else { return (false, false) }
            state.packets.append(packet)
            return (state.packets.count == 1, true)
        }
        guard let sent else { throw Self.ended }
        if sent.isFirst { onPackets() }
        return sent.hasRoom
    }

    func waitForRoom() async throws(BLEError) {
        let outcome = Outcome<Void>()
        state.withLock { state in
            if state.isClosed {
                outcome.deliver(.failure(Self.ended))
            } else if state.packets.count < SimulatedSubscription.capacity {
                outcome.deliver(.success(()))
            } else {
                state.waiters.append(outcome)
            }
        }
        try await outcome.wait()
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Takes out all waiting packets, in order.
    func take() -> [[UInt8]] {
        let (packets, waiters) = state.withLock { state in
            defer { (state.packets, state.waiters) = ([], []) }
            return (state.packets, state.waiters)
        }
        for waiter in waiters { waiter.deliver(.success(())) }
        return packets
    }

    func close() {
        let waiters: [Outcome<Void>]? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        guard let waiters else { return }
        for waiter in waiters { waiter.deliver(.failure(Self.ended)) }
        onClose()
    }
}
