internal import Synchronization

/// Signals the new values of an object's property, from any thread: those who have nothing else to do on the loop do not
/// wait for it.
///
/// A value waits for the socket to have room, so none is stored.
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

    /// Signals a value, and waits while the socket has no room. Returns false if the connection is closed, or the task is
    /// cancelled while it waits.
    package func send(_ value: [UInt8]) async -> Bool {
        let bytes = message.message(value, serial: output.nextSerial())
        while true {
            switch output.sendIfRoom(bytes) {
            case .accepted:
                if count.wrappingAdd(1, ordering: .relaxed).newValue % Self.turn == 0 { await Task.yield() }
                return true
            case .closed: return false
            case .full:
                do throws(DBusError) { try await output.room() } catch { return false }
            }
        }
    }
}

extension BusSession {
    /// Returns what signals the values of a property of bytes.
    package func makeEmitter(
        path: String, interface: String, property: String
    ) throws(DBusError) -> PropertyEmitter {
        PropertyEmitter(
            try open().output, try BytesChangedMessage(path: path, interface: interface, property: property))
    }
}
