public import BLE
internal import DBus

extension CentralBackend where Self == BlueZCentral {
    /// A backend that uses bluetoothd.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    public static func bluez(adapter: String? = nil, bus: String? = nil) -> BlueZCentral {
        BlueZCentral(BlueZHost(adapter: adapter, address: bus.map { .address($0) } ?? .system))
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
    /// The backend's thread as a task executor. Consumers that prefer it avoid a switch between threads.
    ///
    /// ```swift
    /// let backend = BlueZCentral.bluez()
    /// let central = try await Central(backend: backend)
    /// Task(executorPreference: backend.taskExecutor) {
    ///     for try await found in central.discoveries() { print(found.peripheral) }
    /// }
    /// ```
    ///
    /// Code that runs there must not block.
    public nonisolated var taskExecutor: any TaskExecutor { host.tasks }
}
