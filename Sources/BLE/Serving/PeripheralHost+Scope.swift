/// Runs `body` with a central and a host, for a program that is both, and shuts both down at the end: when `body`
/// returns, throws or is cancelled.
///
/// The host is shut down first, so that its handlers can use the central as long as they run. `body` runs on the
/// central's backend's thread if it has one, as that of ``withCentral(backend:configuration:_:)`` does.
///
/// ```swift
/// try await withBluetooth(centralBackend: .simulated(radio), hostBackend: .simulated(radio)) { central, host in
///     try await host.withServed(.battery()) { served in
///         for try await found in central.discoveries() { print(found.peripheral) }
///     }
/// }
/// ```
///
/// Throws what `body` throws, and what ``Central/init(backend:configuration:)`` and
/// ``PeripheralHost/init(backend:configuration:)`` throw.
///
/// - Parameters:
///   - central: the configuration of the central.
///   - host: the configuration of the host.
///   - waits: whether to wait for Bluetooth, if that is not available yet.
public func withBluetooth<Result: Sendable>(
    centralBackend: some CentralBackend, hostBackend: some PeripheralBackend,
    central: Central.Configuration = Central.Configuration(),
    host: PeripheralHost.Configuration = PeripheralHost.Configuration(), waits: Bool = false,
    _ body: @escaping @concurrent @Sendable (Central, PeripheralHost) async throws -> Result
) async throws -> Result {
    try await withCentral(backend: centralBackend, configuration: central, waits: waits) { central in
        try await withPeripheralHost(backend: hostBackend, configuration: host, waits: waits) { host in
            try await body(central, host)
        }
    }
}

/// Runs `body` with a host that uses `backend`, and shuts it down at the end: when `body` returns, throws or is
/// cancelled.
///
/// ```swift
/// try await withPeripheralHost(backend: .simulated(radio)) { host in try await host.serve(.battery()) }
/// ```
///
/// Throws what `body` throws, and what ``PeripheralHost/init(backend:configuration:)`` throws.
///
/// - Parameter waits: whether to wait for Bluetooth, if that is not available yet; the same as
///   ``PeripheralHost/Configuration/waitsForBluetooth``.
public func withPeripheralHost<Result: Sendable>(
    backend: some PeripheralBackend, configuration: PeripheralHost.Configuration = PeripheralHost.Configuration(),
    waits: Bool = false, _ body: @escaping @concurrent @Sendable (PeripheralHost) async throws -> Result
) async throws -> Result {
    var configuration = configuration
    configuration.waitsForBluetooth = configuration.waitsForBluetooth || waits
    let host = try await PeripheralHost(backend: backend, configuration: configuration)
    do {
        let result = try await body(host)
        await host.shutDown()
        return result
    } catch {
        await host.shutDown()
        throw error
    }
}
