public import BLE

/// The notifications that one subscriber received, for a test to wait for.
public final class NotificationLog: Sendable {
    private struct State {
        var values: [[UInt8]] = []
        var gapCount = 0
    }

    private let state = SharedValue(State())

    /// Creates a log without values.
    public init() {}

    /// The values so far.
    public var values: [[UInt8]] { state.value.values }
    /// The number of gaps so far.
    public var gapCount: Int { state.value.gapCount }

    /// Records all notifications until the stream ends.
    public func record(_ events: NotificationEvents<[UInt8]>) async throws {
        for try await event in events {
            state.change { state in
                switch event {
                case .value(let value): state.values.append(value)
                case .gap: state.gapCount += 1
                }
            }
        }
    }

    /// Returns once that many values have been received.
    public func until(valueCount: Int) async throws { try await state.until { $0.values.count >= valueCount } }

    /// Returns once there have been that many gaps.
    public func until(gapCount: Int) async throws { try await state.until { $0.gapCount >= gapCount } }
}
