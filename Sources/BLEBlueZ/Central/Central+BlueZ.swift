public import BLE
internal import DBus
internal import Loop

extension CentralBackend where Self == BlueZCentral {
    /// A backend that uses bluetoothd.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    ///   - advertisements: where advertisements are received from. With `managementSocket`, the bus must be this
    ///     machine's: the kernel reports what this machine's adapters receive.
    public static func bluez(
        adapter: String? = nil, bus: String? = nil, advertisements: BlueZCentral.AdvertisementSource = .bluetoothd
    ) -> BlueZCentral {
        BlueZCentral(
            BlueZStack(adapter: adapter, address: bus.map { .address($0) } ?? .system), advertisements.socket)
    }
}

extension Central {
    /// Creates a central that uses this machine's bluetoothd and its default adapter.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, each with a remedy.
    public init(configuration: Configuration = Configuration()) async throws(BLEError) {
        try await self.init(backend: .bluez(), configuration: configuration)
    }
}

extension BlueZCentral {
    /// Where a central receives advertisements from.
    public enum AdvertisementSource: Hashable, Sendable {
        /// bluetoothd, which reports them over the bus.
        case bluetoothd
        /// The kernel's management socket: the kernel makes active scans for LE, without bluetoothd. That takes much
        /// less of the machine's processor time, and each advertisement has all AD structures
        /// (``Advertisement/structures``). Everything else remains bluetoothd's, scans that are passive or not for LE
        /// alone included.
        ///
        /// bluetoothd does not know what is found. The first connection to a peripheral therefore has bluetoothd scan,
        /// too, until it has received the peripheral, for 5 s at most. While another program scans, the kernel reports
        /// only what that program's filter accepts.
        ///
        /// The program needs the capability `CAP_NET_ADMIN`, and the kernel's network namespace if it runs in a
        /// container: otherwise, an active scan for LE throws `unauthorized` or `notSupported`.
        case managementSocket

        /// Opens the socket; nil without one.
        var socket: ManagementSocket? {
            switch self {
            case .bluetoothd: nil
            case .managementSocket: .kernel
            }
        }
    }

    /// The thread of the bus, on which the central delivers, as a task executor. ``withCentral(configuration:_:)`` runs
    /// there.
    public nonisolated var taskExecutor: (any TaskExecutor)? { stack.tasks }

    /// The continuous clock, with sleeps that end on that thread.
    public nonisolated var clock: any Clock<Duration> { stack.loop.clock }
}

/// Runs `body` with a central that uses this machine's bluetoothd and its default adapter, and shuts it down at the
/// end.
///
/// ```swift
/// try await withCentral { central in
///     for try await found in central.discoveries() { print(found.peripheral) }
/// }
/// ```
///
/// `body` runs on the thread that delivers values and advertisements, which takes about two thirds of the processor
/// time that it takes on another thread (Docs/Performance.md). In return, it must not block: nothing arrives, and no
/// deadline ends, until it next awaits. Long work belongs in a `Task { … }` or an actor, which run elsewhere.
///
/// Throws what `body` throws, and `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, each with a remedy.
///
/// - Parameter waits: whether to wait for the bus, bluetoothd and the adapter, which may start later than the program.
public func withCentral<Result: Sendable>(
    configuration: Central.Configuration = Central.Configuration(), waits: Bool = false,
    _ body: @escaping @concurrent @Sendable (Central) async throws -> Result
) async throws -> Result {
    try await withCentral(backend: .bluez(), configuration: configuration, waits: waits, body)
}
