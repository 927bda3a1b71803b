public import BLE
internal import Synchronization

extension RecordAccessControlPoint {
    /// Such records, in the order in which the device sends them, which is that of their age; none where there are none.
    ///
    /// Subscribes to `characteristic` for as long as it takes. Somebody else who is subscribed sees the records, too. A record that cannot
    /// be decoded throws `invalidValue`, unless `malformed` takes the error and the transfer goes on; more than 65,536 records throw
    /// `overflow`.
    ///
    /// When it is given up, by cancellation, at a deadline or because of such a record, the device is asked to abort, without waiting for
    /// its answer; until that comes, 5 s at most, other requests wait.
    ///
    /// - Parameters:
    ///   - timeout: the longest wait for the next record, or for the answer after the last; nil for the configuration's operation
    ///     timeout.
    ///   - malformed: told of each record that cannot be decoded, with its bytes in the message; nil to end the transfer there.
    public func records<Record>(
        _ selection: RecordSelection = .all, of characteristic: Characteristic<Record>,
        timeout: Duration? = nil,
        malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> [Record] {
        let records = try await collector(of: characteristic, malformed)
        try await collect([records], selection, timeout)
        return records.records
    }

    /// Subscribed from now on.
    func collector<Record>(
        of characteristic: Characteristic<Record>, _ malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> RecordCollector<Record> {
        RecordCollector(
            try await service.notifications(characteristic, overflow: .fail(capacity: recordCapacity)), malformed)
    }

    /// Has such records sent, and returns when the collectors have all of them.
    func collect(
        _ collectors: [any RecordCollection], _ selection: RecordSelection, _ timeout: Duration?
    ) async throws(BLEError) {
        // Held, so that an abort finds the indications switched on.
        let indications = try await service.notifications(
            .recordAccessControlPoint, overflow: .dropOldest(capacity: 1))
        do throws(BLEError) {
            try await typed { try await transfer(to: collectors, selection, timeout) }
        } catch {
            switch error.code {
            case .procedureFailed where error.result(RecordAccessResult.self) == .noRecordsFound: return
            case .cancelled, .timedOut, .overflow, .invalidValue:
                Task {
                    if await service.peripheral.connectionState == .connected { try? await abort(timeout: .seconds(5)) }
                    withExtendedLifetime(indications) {}
                }
                throw error
            default: throw error
            }
        }
    }

    private func transfer(
        to collectors: [any RecordCollection], _ selection: RecordSelection, _ timeout: Duration?
    ) async throws {
        let watch = TransferWatch(service.peripheral.central)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for collector in collectors {
                group.addTask {
                    try await collector.collect { watch.reset() }
                    return false
                }
            }
            group.addTask {
                try await watch.expire(after: self.timeout(timeout))
                return false
            }
            group.addTask {
                try await report(selection, timeout: .seconds(1_000_000))
                return true
            }
            while try await group.next() == false {}
            // What was sent before the answer has arrived before it: the collectors take it, then end.
            group.cancelAll()
            while try await group.next() != nil {}
        }
    }
}

/// What gathers the records of a transfer.
protocol RecordCollection: Sendable {
    /// Takes records until the task is cancelled, and then those that have arrived already.
    func collect(_ noteProgress: @Sendable () -> Void) async throws(BLEError)
}

/// How many records are gathered at most: as many as there are sequence numbers.
private let recordCapacity = 65536

/// Gathers the records that one characteristic sends.
final class RecordCollector<Record: Sendable>: RecordCollection {
    private let stream: NotificationStream<Record>
    private let malformed: (@Sendable (BLEError) -> Void)?
    private let collected = Mutex<[Record]>([])

    init(_ stream: NotificationStream<Record>, _ malformed: (@Sendable (BLEError) -> Void)? = nil) {
        self.stream = stream
        self.malformed = malformed
    }

    /// What has been gathered.
    var records: [Record] { collected.withLock { $0 } }

    func collect(_ noteProgress: @Sendable () -> Void) async throws(BLEError) {
        var records = stream.makeAsyncIterator()
        while true {
            do throws(BLEError) {
                guard let record = try await records.next() else { return }
                try take(record)
            } catch {
                // A stream that is empty tells so.
                if error.code == .cancelled, Task.isCancelled { return }
                guard let malformed, error.code == .invalidValue else { throw error }
                malformed(error)
            }
            noteProgress()
        }
    }

    private func take(_ record: Record) throws(BLEError) {
        let count = collected.withLock { records in
            records.append(record)
            return records.count
        }
        guard count <= recordCapacity else {
            throw BLEError(.overflow, "the device sends more records than there are sequence numbers")
        }
    }
}

/// Ends a transfer in which nothing happens any more.
private final class TransferWatch: Sendable {
    private let central: Central
    private let lastProgress: Mutex<Duration>

    init(_ central: Central) {
        self.central = central
        lastProgress = Mutex(central.elapsed())
    }

    /// Something has happened.
    func reset() { lastProgress.withLock { $0 = central.elapsed() } }

    /// Throws `timedOut` once nothing has happened for so long; returns when the task is cancelled.
    func expire(after timeout: Duration) async throws {
        while true {
            let left = lastProgress.withLock { $0 } + timeout - central.elapsed()
            guard left > .zero else {
                throw BLEError(.timedOut, "no record, and no answer, came within \(timeout)")
            }
            do {
                try await central.configuration.clock.sleep(for: left)
            } catch {
                return
            }
        }
    }
}
