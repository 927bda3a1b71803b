internal import Synchronization

/// What a stream of notifications consists of inside.
enum NotificationPacket: Sendable {
    case value([UInt8])
    /// Between the value before and the one after it others may have been sent.
    case gap(BLEError)
}

/// Hands each value that a peripheral sends to everybody who reads it.
///
/// The backend calls it directly, once a value; it is the only thing between the backend and the readers' buffers.
final class NotificationFanout: Sendable {
    typealias Producer = BoundedStream<NotificationPacket>.Producer

    /// A reader, and whether what delivers to it waits while it has no room.
    private struct Reader {
        let token: Int
        let producer: Producer
        let isWaitedFor: Bool
    }

    private let readers = Mutex<[Reader]>([])

    var isEmpty: Bool { readers.withLock { $0.isEmpty } }

    func add(_ token: Int, _ producer: Producer, isWaitedFor: Bool = false) {
        readers.withLock { $0.append(Reader(token: token, producer: producer, isWaitedFor: isWaitedFor)) }
    }

    func remove(_ token: Int) {
        readers.withLock { $0.removeAll { $0.token == token } }
    }

    func deliver(_ value: [UInt8]) {
        readers.withLock { readers in
            for reader in readers { reader.producer.yield(.value(value)) }
        }
    }

    /// Delivers what a channel brought. False when the channel is to wait for a reader.
    func offer(_ value: [UInt8]) -> Bool {
        readers.withLock { readers in
            var hasRoom = true
            for reader in readers {
                if !reader.isWaitedFor {
                    reader.producer.yield(.value(value))
                } else if !reader.producer.offer(.value(value)) {
                    hasRoom = false
                }
            }
            return hasRoom
        }
    }

    /// Nobody is to be waited for.
    var hasRoom: Bool { readers.withLock { $0.allSatisfy { !$0.isWaitedFor || $0.producer.hasRoom } } }

    func interrupt(_ error: BLEError) {
        readers.withLock { readers in
            for reader in readers { reader.producer.yield(.gap(error)) }
        }
    }

    func finish(_ error: BLEError) {
        let ended = readers.withLock { readers in
            defer { readers = [] }
            return readers
        }
        for reader in ended { reader.producer.finish(throwing: error) }
    }
}
