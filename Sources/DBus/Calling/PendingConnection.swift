internal import CGLib
internal import Synchronization

/// A connection on its way from GDBus to its owner. Closed if the owner no longer waits for it.
final class PendingConnection: Sendable {
    private let connection: Mutex<UInt>

    init(_ connection: OpaquePointer) {
        self.connection = Mutex(UInt(bitPattern: connection))
    }

    func take() -> OpaquePointer? {
        connection.withLock { connection in
            defer { connection = 0 }
            return OpaquePointer(bitPattern: connection)
        }
    }

    deinit {
        guard let connection = take() else { return }
        g_dbus_connection_close(connection, nil, nil, nil)
        g_object_unref(UnsafeMutableRawPointer(connection))
    }
}
