internal import DBus

/// One connection to bluetoothd, for a program that is a central and a peripheral at once.
///
/// ```swift
/// let bluez = BlueZConnection()
/// let central = try await Central(backend: bluez.makeCentral())
/// let host = try await PeripheralHost(backend: bluez.makePeripheral())
/// ```
///
/// Both then use one adapter, one thread and one copy of bluetoothd's objects. It lasts from the start of the first to
/// the shutdown of the last. With a backend of its own for each, they work as well, and cost twice as much.
public struct BlueZConnection: Sendable {
    private let host: BlueZHost

    /// Creates a connection. Nothing is sent before a central or a host uses it.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    public init(adapter: String? = nil, bus: String? = nil) {
        host = BlueZHost(adapter: adapter, address: bus.map { .address($0) } ?? .system)
    }

    /// Returns a backend for a central. While one is in use, another throws `busy` when it starts.
    public func makeCentral() -> BlueZCentral { BlueZCentral(host) }

    /// Returns a backend for a peripheral host. While one is in use, another throws `busy` when it starts.
    public func makePeripheral() -> BlueZPeripheral { BlueZPeripheral(host) }
}
