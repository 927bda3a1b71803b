internal import BLE

/// Waiting for changes of bluetoothd's objects.
extension BlueZBackend {
    /// Waits until `look` returns a value. Calls it immediately, and whenever the object at the path changes. Throws
    /// `timedOut` if that does not happen within `limit`.
    func wait<Value: Sendable>(
        forObject path: String, within limit: Duration? = nil, until look: @escaping () throws(BLEError) -> Value?
    ) async throws(BLEError) -> Value {
        if let value = try look() { return value }
        let outcome = Outcome<Value>()
        let timer = limit.map { limit in
            Task { [clock] in
                guard (try? await clock.sleep(for: limit)) != nil else { return }
                outcome.deliver(.failure(BLEError(.timedOut, "bluetoothd did not say so within \(limit)")))
            }
        }
        defer { timer?.cancel() }
        let token = token()
        watchers[path, default: [:]][token] = {
            do throws(BLEError) {
                if let value = try look() { outcome.deliver(.success(value)) }
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        defer {
            watchers[path]?[token] = nil
            if watchers[path]?.isEmpty == true { watchers[path] = nil }
        }
        return try await outcome.wait()
    }

    func look(_ path: String) {
        for look in (watchers[path] ?? [:]).values { look() }
    }
}
