internal import CGLib
internal import Loop
internal import Waiting

/// A reference to a GDBusConnection, which it retains.
///
/// Safe to share: it is never changed, and GLib lets any thread use a GDBusConnection.
package final class GDBusReference: @unchecked Sendable {
    let pointer: OpaquePointer

    /// - Parameter pointer: a `GDBusConnection *`.
    package init(retaining pointer: OpaquePointer) {
        g_object_ref(UnsafeMutableRawPointer(pointer))
        self.pointer = pointer
    }

    private init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

    /// Connects to the bus at an address, authenticates and calls `Hello`.
    static func connect(
        _ address: String, until outcome: BusOutcome<GDBusReference>
    ) async throws(DBusError) -> GDBusReference {
        let cancellable = Cancellable()
        // There, because GDBus reports the end of the connection in the context in which it was made, and retains it
        // until then.
        GLib.perform {
            let flags =
                G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
                | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
            g_dbus_connection_new_for_address(
                address, GDBusConnectionFlags(rawValue: flags), nil, cancellable.pointer,
                { _, result, outcome in
                    let outcome = Unmanaged<BusOutcome<GDBusReference>>.fromOpaque(outcome!).takeRetainedValue()
                    var error: UnsafeMutablePointer<GError>?
                    if let connection = g_dbus_connection_new_for_address_finish(result, &error) {
                        g_dbus_connection_set_exit_on_close(connection, 0)
                        outcome.deliver(.success(GDBusReference(owning: connection)))
                    } else {
                        outcome.deliver(.failure(DBusError(taking: error)))
                    }
                }, Unmanaged.passRetained(outcome).toOpaque())
        }
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            cancellable.cancel()
            throw error
        }
    }

    /// Closes the connection. What is not written is lost.
    func close() {
        GLib.perform { [self] in
            g_dbus_connection_close(
                pointer, nil,
                { connection, result, _ in
                    g_dbus_connection_close_finish(OpaquePointer(connection), result, nil)
                }, nil)
        }
    }

    var isClosed: Bool { g_dbus_connection_is_closed(pointer) != 0 }

    /// The name that the bus has given the connection; nil if the other side is not a bus.
    var uniqueName: String? { g_dbus_connection_get_unique_name(pointer).map { String(cString: $0) } }
    /// The id of the bus, which it has told while authenticating.
    var busID: String { g_dbus_connection_get_guid(pointer).map { String(cString: $0) } ?? "" }

    /// Whether the bus passes descriptors.
    var passesDescriptors: Bool {
        g_dbus_connection_get_capabilities(pointer).rawValue & G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING.rawValue != 0
    }
}
