import BLE
import Synchronization

/// The peripherals whose name begins as asked for, as they are found.
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

    /// Returns once there is one.
    func first() async throws {
        for await _ in stream { return }
        throw CancellationError()
    }
}
