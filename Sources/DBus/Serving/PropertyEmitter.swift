internal import Synchronization

/// Signals the new values of an object's property from any thread, so that a sender need not wait for the loop.
///
/// A value waits until the socket has room, so at most a part of one value is stored.
package final class PropertyEmitter: Sendable {
    /// The number of values after which a sender lets other tasks run.
    private static let turn = 64

    private let output: MessageOutput
    private let message: BytesChangedMessage
    private let count = Atomic<Int>(0)

    init(_ output: MessageOutput, _ message: BytesChangedMessage) {
        self.output = output
        self.message = message
    }

    /// Signals a value, and waits while the socket has no room. Throws `.disconnected`, and `.cancelled` if the task is
    /// cancelled while it waits.
    package func send(_ value: [UInt8]) async throws(DBusError) {
        let bytes = message.message(value, serial: output.nextSerial())
        while true {
            switch output.sendIfRoom(bytes) {
            case .accepted:
                if count.wrappingAdd(1, ordering: .relaxed).newValue % Self.turn == 0 { await Task.yield() }
                return
            case .closed: throw BusConnection.closed
            case .full: try await output.room()
            }
        }
    }
}

extension BusSession {
    /// Returns an emitter for a property of bytes. In a session for one service, it sends the values only to the
    /// current owner of the service's name.
    package func makeEmitter(
        path: String, interface: String, property: String
    ) throws(DBusError) -> PropertyEmitter {
        // Without an owner, the values would go to all connections.
        if service != nil, owner == nil { throw BusConnection.closed }
        return PropertyEmitter(
            try open().output,
            try BytesChangedMessage(path: path, interface: interface, property: property, destination: owner))
    }
}
