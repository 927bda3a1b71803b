/// The address of a message bus.
package enum BusAddress: Sendable, Equatable, CustomStringConvertible {
    /// The system bus: `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known socket.
    case system
    /// Any address in D-Bus notation, such as `unix:path=/run/dbus/system_bus_socket`.
    case address(String)

    package var description: String {
        switch self {
        case .system: "the system bus"
        case .address(let address): address
        }
    }
}
