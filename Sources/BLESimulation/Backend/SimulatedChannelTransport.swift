internal import BLE
internal import Synchronization
internal import Waiting

/// One end of an L2CAP channel in memory.
///
/// Packets go to the other end at once, and wait there for the reader. As with the credits of a real channel, a sender
/// waits while many packets wait at the other end.
final class SimulatedChannelTransport: ChannelTransport {
    let maximumLength: Int
    let maximumReceiveLength: Int
    private let radio: SimulatedRadio
    private let state: Mutex<State>

    /// The maximum number of packets that wait for the reader at an end.
    private static let credits = 64

    private struct State {
        /// The other end. Nil when either end is closed.
        var other: SimulatedChannelTransport?
        var arrived: [[UInt8]] = []
        /// The senders that wait until the other end has room for another packet.
        var senders: [Outcome<Void>] = []
        var isPaused = false
        var isClosed = false
        /// The end of the channel for this side, which is reported after the last packet.
        var end: Result<Void, BLEError>?
        var deliver: (@Sendable ([UInt8]) -> Bool)?
        var onEnd: (@Sendable (BLEError?) -> Void)?
    }

    private init(_ radio: SimulatedRadio, maximumLength: Int, maximumReceiveLength: Int) {
        self.radio = radio
        self.maximumLength = maximumLength
        self.maximumReceiveLength = maximumReceiveLength
        state = Mutex(State())
    }

    /// Creates the two ends of a channel, the first of which receives packets of up to `first` bytes.
    static func pair(_ radio: SimulatedRadio, first: Int, second: Int) -> (
        SimulatedChannelTransport, SimulatedChannelTransport
    ) {
        let one = SimulatedChannelTransport(radio, maximumLength: second, maximumReceiveLength: first)
        let other = SimulatedChannelTransport(radio, maximumLength: first, maximumReceiveLength: second)
        one.state.withLock { $0.other = other }
        other.state.withLock { $0.other = one }
        return (one, other)
    }

    private static let ended = BLEError(.disconnected, "the channel has ended")

    var isClosed: Bool { state.withLock { $0.isClosed } }

    // MARK: Receiving

    func start(
        deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void
    ) {
        state.withLock { state in
            if !state.isClosed { (state.deliver, state.onEnd) = (deliver, onEnd) }
        }
        pump()
    }

    /// Resumes delivery, in the radio's isolation. There, this cannot precede the pause that it ends: the reader may
    /// have room again before ``pump(isDraining:)`` knows that it had none.
    func resume() {
        Task { [radio] in
            await radio.perform {
                self.state.withLock { $0.isPaused = false }
                self.pump()
            }
        }
    }

    func drain() { pump(isDraining: true) }

    private func pumpSoon() {
        Task { [radio] in await radio.perform { self.pump() } }
    }

    /// Delivers the packets that have arrived while there is room. Called only in the radio's isolation, so that the
    /// order is kept.
    private func pump(isDraining: Bool = false) {
        radio.assertIsolated()
        while true {
            let next: (packet: [UInt8], deliver: @Sendable ([UInt8]) -> Bool, other: SimulatedChannelTransport?)? =
                state.withLock { state in
                    guard let deliver = state.deliver, isDraining || !state.isPaused, !state.arrived.isEmpty else {
                        return nil
                    }
                    return (state.arrived.removeFirst(), deliver, state.other)
                }
            guard let next else { break }
            let hasRoom = next.deliver(next.packet)
            if !hasRoom { state.withLock { $0.isPaused = true } }
            next.other?.roomAppeared()
        }
        let ended = state.withLock { state -> (() -> Void)? in
            guard state.arrived.isEmpty, let end = state.end, let onEnd = state.onEnd else { return nil }
            (state.deliver, state.onEnd) = (nil, nil)
            return {
                switch end {
                case .success: onEnd(nil)
                case .failure(let error): onEnd(error)
                }
            }
        }
        ended?()
    }

    /// Receives a packet from the other end. Returns false if there is no room.
    private func take(_ packet: [UInt8]) -> Bool {
        let (isTaken, isFirst) = state.withLock { state in
            guard state.arrived.count < Self.credits else { return (false, false) }
            state.arrived.append(packet)
            return (true, state.arrived.count == 1)
        }
        if isFirst { pumpSoon() }
        return isTaken
    }

    private var hasRoom: Bool { state.withLock { $0.arrived.count < Self.credits } }

    // MARK: Sending

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        guard let other = state.withLock({ $0.other }) else { throw Self.ended }
        return other.take(packet)
    }

    func waitForRoom() async throws(BLEError) {
        let outcome = Outcome<Void>()
        let other = state.withLock { state in
            if state.other == nil { outcome.deliver(.failure(Self.ended)) } else { state.senders.append(outcome) }
            return state.other
        }
        // The room may have appeared before this wait began.
        if other?.hasRoom == true { outcome.deliver(.success(())) }
        defer { state.withLock { $0.senders.removeAll { $0 === outcome } } }
        try await outcome.wait()
    }

    /// Whether packets wait for the reader at the other end.
    func hasUnsentPackets() throws(BLEError) -> Bool {
        guard let other = state.withLock({ $0.other }) else { throw Self.ended }
        return other.state.withLock { !$0.arrived.isEmpty }
    }

    private func roomAppeared() {
        let senders = state.withLock { state in
            defer { state.senders = [] }
            return state.senders
        }
        for sender in senders { sender.deliver(.success(())) }
    }

    // MARK: Ending

    func close() {
        let other = state.withLock { state in
            (state.isClosed, state.deliver, state.onEnd, state.arrived) = (true, nil, nil, [])
            defer { state.other = nil }
            return state.other
        }
        failSenders()
        other?.end(.success(()))
    }

    /// Ends both ends, because the link was lost.
    func lose(_ error: BLEError) {
        let other = state.withLock { $0.other }
        end(.failure(error))
        other?.end(.failure(error))
    }

    private func end(_ end: Result<Void, BLEError>) {
        state.withLock { state in
            state.other = nil
            state.end = state.end ?? end
        }
        failSenders()
        pumpSoon()
    }

    private func failSenders() {
        let senders = state.withLock { state in
            defer { state.senders = [] }
            return state.senders
        }
        for sender in senders { sender.deliver(.failure(Self.ended)) }
    }
}
