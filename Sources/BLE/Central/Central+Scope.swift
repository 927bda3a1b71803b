/// Runs `body` with a central that uses `backend`, and shuts it down at the end: when `body` returns, throws or is
/// cancelled.
///
/// `body`, and what it awaits, runs on the backend's thread if it has one (``CentralBackend/taskExecutor``), as
/// `BLEBlueZ`'s has. Values and advertisements then reach it without a switch between threads. In return, it must not
/// block: nothing arrives, and no deadline ends, until it next awaits. Child tasks (`async let`, task groups) run
/// there, too. A `Task { … }` and actors run elsewhere.
///
/// ```swift
/// try await withCentral(backend: .simulated(radio)) { central in
///     for try await found in central.discoveries() { print(found.peripheral) }
/// }
/// ```
///
/// Throws what `body` throws, and what ``Central/init(backend:configuration:)`` throws.
///
/// - Parameter waits: whether to wait for Bluetooth, if that is not available yet; the same as
///   ``Central/Configuration/waitsForBluetooth``.
public func withCentral<Result: Sendable>(
    backend: some CentralBackend, configuration: Central.Configuration = Central.Configuration(),
    waits: Bool = false, _ body: @escaping @concurrent @Sendable (Central) async throws -> Result
) async throws -> Result {
    var configuration = configuration
    configuration.waitsForBluetooth = configuration.waitsForBluetooth || waits
    let central = try await Central(backend: backend, configuration: configuration)
    do {
        let result = try await withTaskExecutorPreference(backend.taskExecutor) { try await body(central) }
        await central.shutDown()
        return result
    } catch {
        await central.shutDown()
        throw error
    }
}
