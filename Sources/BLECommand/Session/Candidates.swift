import BLE
import Synchronization

/// The peripherals found so far that may be the one searched for.
final class Candidates: Sendable {
    private struct State {
        var found: [Peripheral.ID: Discovery] = [:]
        var signal: AsyncStream<Void>.Continuation?
    }

    private let state = Mutex(State())
    private let stream: AsyncStream<Void>

    init() {
        let (stream, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.stream = stream
        state.withLock { $0.signal = signal }
    }

    var all: [Discovery] { state.withLock { Array($0.found.values) } }

    func add(_ discovery: Discovery) {
        state.withLock { state in
            state.found[discovery.peripheral.id] = discovery
            state.signal?.yield()
        }
    }

    /// Waits for the first candidate.
    func first() async throws {
        for await _ in stream { return }
        throw CancellationError()
    }
}
