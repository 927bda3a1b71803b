public import BLE
internal import DBus

extension CentralBackend where Self == BlueZBackend {
    /// bluetoothd.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is switched on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    public static func bluez(adapter: String? = nil, bus: String? = nil) -> BlueZBackend {
        BlueZBackend(adapter: adapter, address: bus.map { .address($0) } ?? .system)
    }
}

extension Central {
    /// A central on this machine's bluetoothd and its default adapter.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, each with its remedy.
    public init(configuration: Configuration = Configuration()) async throws(BLEError) {
        try await self.init(backend: .bluez(), configuration: configuration)
    }
}

extension BlueZBackend {
    /// The thread that delivers, as an executor for tasks: a consumer that prefers it is spared the hop between threads.
    ///
    /// ```swift
    /// let backend = BlueZBackend.bluez()
    /// let central = try await Central(backend: backend)
    /// Task(executorPreference: backend.taskExecutor) { for try await value in … { … } }
    /// ```
    ///
    /// Whatever runs there must not block.
    public nonisolated var taskExecutor: any TaskExecutor { tasks }
}
