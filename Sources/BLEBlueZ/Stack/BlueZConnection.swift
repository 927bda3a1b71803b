public import BLE
internal import DBus

/// One connection to bluetoothd, for a program that is a central and a peripheral at once.
///
/// ```swift
/// let bluez = BlueZConnection()
/// let central = try await Central(backend: bluez.makeCentral())
/// let host = try await PeripheralHost(backend: bluez.makePeripheral())
/// ```
///
/// Both then use one adapter, one thread and one copy of bluetoothd's objects. The connection lasts from the start of
/// the first to the shutdown of the last; ``withBluetooth(on:central:host:_:)`` is the scope of both. Separate backends
/// for a central and a host also work, at twice the cost.
public struct BlueZConnection: Sendable {
    /// What carries the messages to the bus and from it.
    public enum Transport: Sendable {
        /// A socket that this package reads and writes itself, which takes the least processor time.
        case socket
        /// A `GDBusConnection`, where a proxy or the authentication of a bus wants GDBus.
        case gdbus
    }

    private let stack: BlueZStack

    /// Creates a connection. Nothing is sent before a central or a host uses it.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    ///   - transport: what carries the messages.
    public init(adapter: String? = nil, bus: String? = nil, transport: Transport = .socket) {
        let address: BusAddress =
            switch transport {
            case .socket: bus.map { .address($0) } ?? .system
            case .gdbus: .gdbus(bus)
            }
        stack = BlueZStack(adapter: adapter, address: address)
    }

    /// Creates a connection over a `GDBusConnection` that the program has, and goes on to use as before.
    ///
    /// The `GDBusConnection` is retained as long as this value, or a central or host made with it, exists. It is never
    /// closed. To bluetoothd, it is one client: use it for one `BlueZConnection`, and make the next central and host
    /// with that, too. What a central or host has begun at bluetoothd ends with its shutdown, or within a minute after
    /// it if bluetoothd does not answer; a central or host that starts meanwhile waits for that. Without a shutdown,
    /// all but a scan lasts as long as the `GDBusConnection`.
    ///
    /// After the loss of the bus, the adapter's state stays `resetting`, because only the program can connect again. A
    /// `GDBusConnection` of `g_bus_get_sync` ends the process then, unless `g_dbus_connection_set_exit_on_close` has
    /// turned that off.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - gdbusConnection: a `GDBusConnection *` to the bus that bluetoothd is on. Not checked: any other pointer is
    ///     undefined behavior.
    public init(adapter: String? = nil, gdbusConnection: OpaquePointer) {
        stack = BlueZStack(adapter: adapter, address: .existing(GDBusReference(retaining: gdbusConnection)))
    }

    /// Returns a backend for a central. While one is in use, another throws `busy` when it starts.
    ///
    /// - Parameter advertisements: where advertisements are received from.
    public func makeCentral(
        advertisements: BlueZCentral.AdvertisementSource = .bluetoothd
    ) -> BlueZCentral { BlueZCentral(stack, advertisements.socket) }

    /// Returns a backend for a peripheral host. While one is in use, another throws `busy` when it starts.
    public func makePeripheral() -> BlueZPeripheral { BlueZPeripheral(stack) }
}

/// Runs `body` with a central and a host on one connection to bluetoothd, and shuts both down at the end, the host
/// first.
///
/// ```swift
/// try await withBluetooth { central, host in
///     let strap = try await central.first(matching: .service(.heartRate)).peripheral
///     let level = try CharacteristicDefinition(.batteryLevel, .read, value: try await strap.read(.batteryLevel))
///     let definition = PeripheralDefinition(
///         advertisement: Advertisement(localName: "Strap's battery"),
///         services: [ServiceDefinition(.battery, characteristics: [level])])
///     try await host.serve(definition)
/// }
/// ```
///
/// `body` runs on the thread that delivers values and advertisements, as in ``withCentral(configuration:_:)``: it must
/// not block.
///
/// Throws what `body` throws, `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, and `busy` if the connection
/// has a central or a host already.
///
/// - Parameters:
///   - connection: the connection, which chooses the adapter and the bus. By default, a new one to the system's
///     bluetoothd and its default adapter.
///   - central: the configuration of the central.
///   - host: the configuration of the host.
///   - waits: whether to wait for the bus, bluetoothd and the adapter, which may start later than the program.
public func withBluetooth<Result: Sendable>(
    on connection: BlueZConnection = BlueZConnection(), central: Central.Configuration = Central.Configuration(),
    host: PeripheralHost.Configuration = PeripheralHost.Configuration(), waits: Bool = false,
    _ body: @escaping @concurrent @Sendable (Central, PeripheralHost) async throws -> Result
) async throws -> Result {
    try await withBluetooth(
        centralBackend: connection.makeCentral(), hostBackend: connection.makePeripheral(), central: central,
        host: host, waits: waits, body)
}
