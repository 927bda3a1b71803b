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

    private let readers = Mutex<[(token: Int, producer: Producer)]>([])

    var isEmpty: Bool { readers.withLock { $0.isEmpty } }

    func add(_ token: Int, _ producer: Producer) {
        readers.withLock { $0.append((token, producer)) }
    }

    func remove(_ token: Int) {
        readers.withLock { $0.removeAll { $0.token == token } }
    }

    func deliver(_ value: [UInt8]) {
        readers.withLock { readers in
            for reader in readers { reader.producer.yield(.value(value)) }
        }
    }

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
