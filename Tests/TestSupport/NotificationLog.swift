public import BLE
import Synchronization

/// What one subscriber got, for a test to wait for.
public final class NotificationLog: Sendable {
    private struct State {
        var values: [[UInt8]] = []
        var gapCount = 0
        var waiting: [(holds: @Sendable (State) -> Bool, outcome: Outcome<Void>)] = []
    }

    private let state = Mutex(State())

    public init() {}

    public var values: [[UInt8]] { state.withLock { $0.values } }
    public var gapCount: Int { state.withLock { $0.gapCount } }

    /// Notes all that comes, until the stream ends.
    public func record(_ events: NotificationEvents<[UInt8]>) async throws {
        for try await event in events {
            change { state in
                switch event {
                case .value(let value): state.values.append(value)
                case .gap: state.gapCount += 1
                }
            }
        }
    }

    /// Returns once so many values have come.
    public func until(valueCount: Int) async throws { try await until { $0.values.count >= valueCount } }

    /// Returns once there have been so many gaps.
    public func until(gapCount: Int) async throws { try await until { $0.gapCount >= gapCount } }

    private func until(_ holds: @escaping @Sendable (State) -> Bool) async throws {
        let outcome = Outcome<Void>()
        change { $0.waiting.append((holds, outcome)) }
        try await outcome.wait()
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let waiting = state.waiting
            state.waiting = waiting.filter { !$0.holds(state) }
            return waiting.filter { $0.holds(state) }
        }
        for waiter in ready { waiter.outcome.deliver(.success(())) }
    }
}
