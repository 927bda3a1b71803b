internal import CGLib
internal import Synchronization
internal import Waiting

/// Signals the new values of an object's property, from any thread: those who have nothing else to do on the loop do not
/// wait for it.
///
/// GDBus takes signals without limit. Therefore, a sender waits now and then until the socket has them.
///
/// Safe to share: GDBus sends signals from any thread, and the rest is never changed or is protected by a mutex.
package final class PropertyEmitter: @unchecked Sendable {
    /// The number of values after which a sender waits for the socket.
    private static let capacity = 64

    private let loop: EventLoop
    private let connection: OpaquePointer
    private let path: String
    private let interface: String
    private let property: String
    private let unflushed = Mutex(0)

    init(
        loop: EventLoop, connection: OpaquePointer, path: String, interface: String, property: String
    ) {
        self.loop = loop
        self.connection = OpaquePointer(g_object_ref(UnsafeMutableRawPointer(connection)))
        self.path = path
        self.interface = interface
        self.property = property
    }

    deinit { g_object_unref(UnsafeMutableRawPointer(connection)) }

    /// Signals a value, and waits if too many are on their way. Returns false if the connection is closed.
    package func send(_ value: [UInt8]) async -> Bool {
        let isSent = value.withUnsafeBytes {
            ble_emit_changed_bytes(connection, path, interface, property, $0.baseAddress, gsize($0.count)) != 0
        }
        guard isSent else { return false }
        let isFull = unflushed.withLock { count in
            count += 1
            guard count >= Self.capacity else { return false }
            count = 0
            return true
        }
        if isFull { await flush() }
        return true
    }

    /// Waits until the socket has all values, or the connection is closed.
    private func flush() async {
        let outcome = BusOutcome<Void>()
        // On the loop, to whose context GDBus delivers the answer.
        loop.perform { [self] in
            g_dbus_connection_flush(
                connection, nil,
                { source, result, box in
                    let outcome = Unmanaged<BusOutcome<Void>>.fromOpaque(box!).takeRetainedValue()
                    g_dbus_connection_flush_finish(OpaquePointer(source!), result, nil)
                    outcome.deliver(.success(()))
                }, Unmanaged.passRetained(outcome).toOpaque())
        }
        try? await outcome.wait()
    }
}

extension CallingConnection {
    func makeEmitter(path: String, interface: String, property: String) throws(DBusError) -> PropertyEmitter {
        PropertyEmitter(
            loop: loop, connection: try open(), path: path, interface: interface, property: property)
    }
}

extension BusSession {
    /// Returns what signals the values of a property of bytes.
    package func makeEmitter(
        path: String, interface: String, property: String
    ) throws(DBusError) -> PropertyEmitter {
        try get(calling).makeEmitter(path: path, interface: interface, property: property)
    }
}
