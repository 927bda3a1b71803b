internal import Synchronization

/// Signals the new values of an object's property, from any thread: those who have nothing else to do on the loop do not
/// wait for it.
///
/// A value waits for the socket to have room, so at most a part of one is stored.
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
    /// Returns what signals the values of a property of bytes: in a session for one service, to the present owner of its
    /// name alone.
    package func makeEmitter(
        path: String, interface: String, property: String
    ) throws(DBusError) -> PropertyEmitter {
        // Without an owner, everybody would see the values.
        if service != nil, owner == nil { throw BusConnection.closed }
        return PropertyEmitter(
            try open().output,
            try BytesChangedMessage(path: path, interface: interface, property: property, destination: owner))
    }
}
