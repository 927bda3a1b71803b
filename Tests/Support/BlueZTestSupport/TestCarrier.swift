import CGLib
package import DBus

/// What carries the messages of a session in a test.
package enum TestCarrier: String, CaseIterable, Sendable {
    case socket
    case gdbus
    /// A GDBusConnection of the session's own that exists before. It was made for a main context that does not run.
    case existing
}

extension PrivateBus {
    package func address(over carrier: TestCarrier) -> BusAddress {
        switch carrier {
        case .socket: .address(address)
        case .gdbus: .gdbus(address)
        case .existing: .existing(makeGDBusConnection())
        }
    }

    /// Connects with GDBus. Blocks the thread.
    package func makeGDBusConnection() -> GDBusReference {
        let flags =
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
            | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
        let connection = g_dbus_connection_new_for_address_sync(
            address, GDBusConnectionFlags(rawValue: flags), nil, nil, nil)
        guard let connection else { preconditionFailure("no bus at \(address)") }
        defer { g_object_unref(UnsafeMutableRawPointer(connection)) }
        return GDBusReference(retaining: connection)
    }
}
