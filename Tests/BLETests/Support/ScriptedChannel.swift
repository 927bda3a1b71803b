import BLE
import Synchronization
import Waiting

/// A channel that takes as many packets as a test lets it.
final class ScriptedChannel: PacketChannel {
    private struct State {
        var room = Int.max
        var packets: [[UInt8]] = []
        var isClosed = false
        var waiters: [Outcome<Void>] = []
    }

    private let state = Mutex(State())
    private static let ended = BLEError(.disconnected, "scripted")

    let maximumLength = 5

    var packets: [[UInt8]] { state.withLock { $0.packets } }
    var isClosed: Bool { state.withLock { $0.isClosed } }
    /// How many wait for room.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Takes so many packets more.
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

    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.deliver(.failure(Self.ended)) }
    }
}
