internal import BLE
internal import Waiting

/// Waits for changes of bluetoothd's objects, in the isolation of the actor that owns the objects.
final class ObjectWaits {
    private var looks: [String: [Int: () -> Void]] = [:] {
        didSet { if looks.isEmpty != oldValue.isEmpty { onChange(!looks.isEmpty) } }
    }
    private var lastToken = 0
    /// Called when the first wait has begun, with true, and when the last has ended, with false.
    var onChange: (Bool) -> Void = { _ in }

    /// The paths of the objects whose changes are awaited.
    var paths: [String] { Array(looks.keys) }

    /// Waits until `look` returns a value. Calls it immediately, and whenever the object at the path changes. Throws
    /// `timedOut` if it returns none within `limit`.
    func wait<Value: Sendable>(
        forObject path: String, within limit: Duration? = nil, clock: any Clock<Duration>,
        isolation: isolated (any Actor)? = #isolation, until look: @escaping () throws(BLEError) -> Value?
    ) async throws(BLEError) -> Value {
        if let value = try look() { return value }
        let outcome = Outcome<Value>()
        let timer = limit.map { limit in
            outcome.expire(after: limit, clock: clock) {
                BLEError(.timedOut, "bluetoothd did not report the change within \(limit)")
            }
        }
        defer { timer?.cancel() }
        lastToken += 1
        let token = lastToken
        looks[path, default: [:]][token] = {
            do throws(BLEError) {
                if let value = try look() { outcome.deliver(.success(value)) }
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        defer {
            looks[path]?[token] = nil
            if looks[path]?.isEmpty == true { looks[path] = nil }
        }
        return try await outcome.wait()
    }

    /// Handles a change of the object at a path.
    func look(_ path: String) {
        guard let waiting = looks[path] else { return }
        for look in waiting.values { look() }
    }

    /// Handles the loss of all objects.
    func lookAtAll() {
        for path in looks.keys { look(path) }
    }
}
