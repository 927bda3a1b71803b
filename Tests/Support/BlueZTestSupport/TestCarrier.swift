package import BLEFakeBlueZ
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
        var error: UnsafeMutablePointer<GError>?
        let connection = g_dbus_connection_new_for_address_sync(
            address, GDBusConnectionFlags(rawValue: flags), nil, nil, &error)
        guard let connection else {
            preconditionFailure(error.map { String(cString: $0.pointee.message) } ?? "no connection")
        }
        defer { g_object_unref(UnsafeMutableRawPointer(connection)) }
        return GDBusReference(retaining: connection)
    }
}
