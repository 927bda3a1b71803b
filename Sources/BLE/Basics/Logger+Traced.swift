package import Logging

extension Logger {
    /// The logger of this task, or one with the label `ble`. Without a logger, the label of `current` is empty.
    static var ofTask: Logger {
        let current = Logger.current
        return current.label.isEmpty ? Logger(label: "ble") : current
    }

    /// Carries out an operation, and logs its beginning, and its end with the result and the time that it took, at
    /// trace level.
    ///
    /// - Parameter elapsed: the time since some moment.
    package func traced<Value: Sendable, Failure: Error>(
        _ name: String, _ metadata: Metadata, elapsed: () -> Duration, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        var metadata = metadata
        trace("\(name)", metadata: metadata)
        let begin = elapsed()
        do throws(Failure) {
            let value = try await body()
            metadata["took"] = "\(elapsed() - begin)"
            if let bytes = value as? [UInt8] { metadata["value"] = "\(Hex.string(bytes))" }
            trace("\(name): done", metadata: metadata)
            return value
        } catch {
            metadata["took"] = "\(elapsed() - begin)"
            metadata["error"] = "\((error as? BLEError).map { "\($0.code): \($0.message)" } ?? "\(error)")"
            trace("\(name): failed", metadata: metadata)
            throw error
        }
    }
}
