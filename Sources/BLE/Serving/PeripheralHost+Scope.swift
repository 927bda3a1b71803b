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
public func withBluetooth<Result: Sendable>(
    centralBackend: some CentralBackend, hostBackend: some PeripheralBackend,
    central: Central.Configuration = Central.Configuration(),
    host: PeripheralHost.Configuration = PeripheralHost.Configuration(),
    _ body: @escaping @concurrent @Sendable (Central, PeripheralHost) async throws -> Result
) async throws -> Result {
    try await withCentral(backend: centralBackend, configuration: central) { central in
        let host = try await PeripheralHost(backend: hostBackend, configuration: host)
        do {
            let result = try await body(central, host)
            await host.shutDown()
            return result
        } catch {
            await host.shutDown()
            throw error
        }
    }
}
