import BLE
import Loop
import Waiting

/// The values of clients on their way to the radio, in the order of their arrival.
///
/// bluetoothd puts each value into the queue of the central's channel at once, whatever the queue's length
/// (`bt_att_send` in its `src/shared/att.c`). Here, the number of values is limited: while there is no room, sockets
/// are not read, and signals, which nothing can hold up, are lost.
struct FakeArrivals {
    /// A value of a client.
    enum Value {
        /// To all subscribers. From a client, by its bus name.
        case signal([UInt8], path: String, client: String)
        /// Over the socket of one.
        case packet([UInt8], ServedAttribute, Peripheral.ID)
    }

    static let capacity = 16_384

    private var values = Fifo<Value>()
    private var count = 0
    /// The sockets that are not read.
    private var paused: [PacketSocket] = []
    /// The number of signals that were lost.
    private(set) var lostCount = 0

    /// Adds the value of a signal, if there is room.
    mutating func append(signal value: Value) {
        guard count < Self.capacity else {
            lostCount += 1
            return
        }
        values.append(value)
        count += 1
    }

    /// Adds a packet that a socket has received. Returns false if there is no room for another: then the socket is
    /// among those that ``popFirst()`` returns.
    mutating func append(packet value: Value, from socket: PacketSocket) -> Bool {
        values.append(value)
        count += 1
        guard count >= Self.capacity else { return true }
        paused.append(socket)
        return false
    }

    /// Removes the next value. Returns the sockets to read again, too.
    mutating func popFirst() -> (value: Value, resumed: [PacketSocket])? {
        guard let value = values.popFirst() else { return nil }
        count -= 1
        // Not at the first free place, so that a socket is not resumed for each value.
        guard !paused.isEmpty, count <= Self.capacity / 2 else { return (value, []) }
        defer { paused = [] }
        return (value, paused)
    }
}
