internal import Synchronization

/// An undecoded element of a notification stream: a value or a gap.
enum NotificationPacket: Sendable {
    case value([UInt8])
    /// Values may be missing between the previous value and the next one.
    case gap(BLEError)
}

/// Delivers each value from a peripheral to every reader.
///
/// The backend calls it directly, once per value, and it adds each value directly to the readers' buffers.
final class NotificationFanout: Sendable {
    typealias Producer = BoundedStream<NotificationPacket>.Producer

    /// A reader, and whether the channel waits while the reader has no room.
    private struct Reader {
        let token: Int
        let producer: Producer
        let pausesSocket: Bool
    }

    private let readers = Mutex<[Reader]>([])

    /// The readers at this moment. Values are passed to them outside of the lock, because a reader that misses one may
    /// be counted by the program's code.
    private var present: [Reader] { readers.withLock(\.self) }

    var isEmpty: Bool { readers.withLock { $0.isEmpty } }

    func add(_ token: Int, _ producer: Producer, pausesSocket: Bool = false) {
        readers.withLock { $0.append(Reader(token: token, producer: producer, pausesSocket: pausesSocket)) }
    }

    func remove(_ token: Int) {
        readers.withLock { $0.removeAll { $0.token == token } }
    }

    func deliver(_ value: [UInt8]) {
        for reader in present { reader.producer.yield(.value(value)) }
    }

    /// Delivers a value from a channel to all readers. Returns false if the channel must then wait until a reader has
    /// room.
    func offer(_ value: [UInt8]) -> Bool {
        var hasRoom = true
        for reader in present {
            if !reader.pausesSocket {
                reader.producer.yield(.value(value))
            } else if !reader.producer.offer(.value(value)) {
                hasRoom = false
            }
        }
        return hasRoom
    }

    /// Whether every reader that the channel waits for has room.
    var hasRoom: Bool { readers.withLock { $0.allSatisfy { !$0.pausesSocket || $0.producer.hasRoom } } }

    func interrupt(_ error: BLEError) {
        for reader in present { reader.producer.yield(.gap(error)) }
    }

    func finish(_ error: BLEError) {
        let ended = readers.withLock { readers in
            defer { readers = [] }
            return readers
        }
        for reader in ended { reader.producer.finish(throwing: error) }
    }
}
