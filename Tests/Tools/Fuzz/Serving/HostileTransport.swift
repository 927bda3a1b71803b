internal import BLE
internal import Synchronization

/// The host's end of a channel whose other end sends anything, and takes packets and ends at random times.
///
/// Delivered from the stack's isolation only.
final class HostileTransport: ChannelTransport {
    let maximumLength: Int
    let maximumReceiveLength: Int
    private let state = Mutex(State())

    private struct State {
        var deliver: (@Sendable ([UInt8]) -> Bool)?
        var onEnd: (@Sendable (BLEError?) -> Void)?
        var arrived: [[UInt8]] = []
        var isPaused = false
        var isClosed = false
        var isOver = false
        var end: BLEError??
        /// Packets that the other end still takes.
        var credits = 4
        var waiters: [Outcome<Void>] = []
        var finding: String?
    }

    init(maximumLength: Int, maximumReceiveLength: Int) {
        self.maximumLength = maximumLength
        self.maximumReceiveLength = maximumReceiveLength
    }

    var finding: String? { state.withLock { $0.finding } }
    var isClosed: Bool { state.withLock { $0.isClosed || $0.isOver } }

    func start(deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void) {
        state.withLock { state in
            if state.deliver != nil { state.finding = "a transport is started twice" }
            (state.deliver, state.onEnd) = (deliver, onEnd)
        }
    }

    func drain() { pump(isDraining: true) }
    func resume() { state.withLock { $0.isPaused = false } }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            (state.deliver, state.onEnd) = (nil, nil)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.failure(Self.ended)) }
    }

    private static let ended = BLEError(.disconnected, "the channel has ended")

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let isTaken: Bool? = state.withLock { state in
            if packet.count > maximumLength {
                state.finding = "\(packet.count) bytes are sent of at most \(maximumLength)"
            }
            guard !state.isClosed, !state.isOver else { return nil }
            guard state.credits > 0 else { return false }
            state.credits -= 1
            return true
        }
        guard let isTaken else { throw Self.ended }
        return isTaken
    }

    func waitForRoom() async throws(BLEError) {
        let outcome = Outcome<Void>()
        state.withLock { state in
            if state.isClosed || state.isOver {
                outcome.deliver(.failure(Self.ended))
            } else if state.credits > 0 {
                outcome.deliver(.success(()))
            } else {
                state.waiters.append(outcome)
            }
        }
        defer { state.withLock { $0.waiters.removeAll { $0 === outcome } } }
        try await outcome.wait()
    }

    // MARK: The other end

    /// Sends packets, gives credits, or ends the channel.
    func act(_ dice: inout Dice) {
        switch dice.below(10) {
        case 0...5:
            for _ in 0..<dice.pick([1, 3, 80]) {
                let count = dice.permille(900) ? dice.below(40) : dice.below(70_000)
                let packet = [UInt8](repeating: dice.byte(), count: count)
                state.withLock { if $0.arrived.count < 200 { $0.arrived.append(packet) } }
            }
        case 6...8:
            let credits = dice.below(20)
            let waiters = state.withLock { state in
                state.credits += credits
                defer { if credits > 0 { state.waiters = [] } }
                return credits > 0 ? state.waiters : []
            }
            for waiter in waiters { waiter.deliver(.success(())) }
        default:
            if dice.permille(300) { end(dice.permille(500) ? nil : BLEError(.disconnected, "the link was lost")) }
        }
        pump()
    }

    func end(_ error: BLEError?) {
        let waiters = state.withLock { state in
            if state.end == nil { state.end = .some(error) }
            state.isOver = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.failure(Self.ended)) }
        pump()
    }

    func pump(isDraining: Bool = false) {
        while let (packet, deliver) = state.withLock({ state -> ([UInt8], @Sendable ([UInt8]) -> Bool)? in
            guard let deliver = state.deliver, isDraining || !state.isPaused, !state.arrived.isEmpty else { return nil }
            return (state.arrived.removeFirst(), deliver)
        }) {
            if !deliver(packet) { state.withLock { $0.isPaused = true } }
        }
        let ended = state.withLock { state -> (@Sendable (BLEError?) -> Void, BLEError?)? in
            guard state.arrived.isEmpty, let end = state.end, let onEnd = state.onEnd else { return nil }
            (state.deliver, state.onEnd) = (nil, nil)
            return (onEnd, end)
        }
        if let (onEnd, error) = ended { onEnd(error) }
    }
}
