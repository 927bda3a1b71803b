/// The address of a message bus.
package enum BusAddress: Sendable, CustomStringConvertible {
    /// The system bus: `DBUS_SYSTEM_BUS_ADDRESS`, or the well-known socket.
    case system
    /// Any address in D-Bus notation, such as `unix:path=/run/dbus/system_bus_socket`.
    case address(String)
    /// The bus at an address, nil for the system bus, over a GDBusConnection that is made for the session.
    case gdbus(String?)
    /// The bus of a GDBusConnection that exists. It stays open.
    case existing(GDBusReference)

    /// Whether what a session has asked of others outlasts it, because its connection does.
    package var outlastsSessions: Bool { if case .existing = self { true } else { false } }

    package var description: String {
        switch self {
        case .system: "the system bus"
        case .address(let address): address
        case .gdbus(let address): "\(address ?? "the system bus"), over GDBus"
        case .existing: "the bus of a GDBusConnection"
        }
    }
}

extension BusAddress {
    /// The address in D-Bus notation; empty for that of a connection that exists.
    var text: String {
        get throws(DBusError) {
            switch self {
            case .system, .gdbus(nil): try BusSocket.systemBusAddress()
            case .address(let text), .gdbus(let text?): text
            case .existing: ""
            }
        }
    }
}
