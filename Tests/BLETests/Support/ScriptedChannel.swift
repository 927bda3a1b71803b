import BLE
import Synchronization
import Waiting

/// A channel that takes as many packets as a test allows.
final class ScriptedChannel: ChannelTransport {
    private struct State {
        var room = Int.max
        var packets: [[UInt8]] = []
        var isClosed = false
        var waiters: [Outcome<Void>] = []
        var deliver: (@Sendable ([UInt8]) -> Bool)?
        var onEnd: (@Sendable (BLEError?) -> Void)?
        var resumed = 0
    }

    private let state = Mutex(State())
    private static let ended = BLEError(.disconnected, "scripted")

    let maximumLength = 5
    let maximumReceiveLength = 23

    var packets: [[UInt8]] { state.withLock { $0.packets } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    /// The number of senders that wait for room.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Takes that many more packets.
    func setRoom(_ room: Int) {
        let waiters = state.withLock { state in
            state.room = room
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.success(())) }
    }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        let sent: Bool? = state.withLock { state in
            guard !state.isClosed else { return nil }
            guard state.room > 0 else { return false }
            state.room -= 1
            state.packets.append(packet)
            return true
        }
        guard let sent else { throw Self.ended }
        return sent
    }

    func waitForRoom() async throws(BLEError) {
        let outcome = Outcome<Void>()
        state.withLock { state in
            if state.isClosed {
                outcome.deliver(.failure(Self.ended))
            } else if state.room > 0 {
                outcome.deliver(.success(()))
            } else {
                state.waiters.append(outcome)
            }
        }
        try await outcome.wait()
    }

    func start(deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void) {
        state.withLock { ($0.deliver, $0.onEnd) = (deliver, onEnd) }
    }

    func drain() {}
    func resume() { state.withLock { $0.resumed += 1 } }

    /// The number of times that the reader had room again.
    var resumeCount: Int { state.withLock { $0.resumed } }
    /// Delivers a packet as the other side's. Returns whether there is room for another.
    func receive(_ packet: [UInt8]) -> Bool { state.withLock { $0.deliver }?(packet) ?? false }
    /// Ends as if the other side had closed it, or with an error.
    func end(_ error: BLEError? = nil) { state.withLock { $0.onEnd }?(error) }

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.failure(Self.ended)) }
    }
}
