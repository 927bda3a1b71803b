public import BLE
internal import Synchronization

extension RecordAccessControlPoint {
    /// Returns the selected records in the order in which the device sends them, which is by age. Empty if there are
    /// none.
    ///
    /// Subscribes to `characteristic` for the duration of the transfer. Other subscribers also receive the records. A
    /// record that cannot be decoded throws `invalidValue`, unless `malformed` receives the error, in which case the
    /// transfer continues. More than 65,536 records throw `overflow`.
    ///
    /// If the transfer ends early, by cancellation, at a deadline or because of such a record, the device is asked to
    /// abort, without waiting for its answer. Other requests wait for that answer, up to 5 s.
    ///
    /// - Parameters:
    ///   - timeout: the maximum wait for the next record, or for the answer after the last. Nil for the configuration's
    ///     operation timeout.
    ///   - malformed: called for each record that cannot be decoded, with its bytes in the message. Nil to end the
    ///     transfer.
    public func records<Record>(
        _ selection: RecordSelection = .all, of characteristic: Characteristic<Record>,
        timeout: Duration? = nil,
        malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> [Record] {
        let records = try await collector(of: characteristic, malformed)
        try await collect([records], selection, timeout)
        return records.records
    }

    /// Returns a collector that is subscribed from now on.
    func collector<Record>(
        of characteristic: Characteristic<Record>, _ malformed: (@Sendable (BLEError) -> Void)? = nil
    ) async throws(BLEError) -> RecordCollector<Record> {
        RecordCollector(
            try await service.notifications(characteristic, overflow: .fail(capacity: recordCapacity)), malformed)
    }

    /// Requests a report of the records, and returns when the collectors have received all of them.
    func collect(
        _ collectors: [any RecordCollection], _ selection: RecordSelection, _ timeout: Duration?
    ) async throws(BLEError) {
        // The stream is kept, so that indications are enabled for an abort.
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
            // Records that were sent before the answer have arrived. The collectors process them, then end.
            group.cancelAll()
            while try await group.next() != nil {}
        }
    }
}

/// Collects the records of a transfer.
protocol RecordCollection: Sendable {
    /// Collects records until the task is cancelled, and then the records that have already arrived.
    func collect(_ noteProgress: @Sendable () -> Void) async throws(BLEError)
}

/// The maximum number of collected records, which is the number of sequence numbers.
private let recordCapacity = 65536

/// Collects the records of one characteristic.
final class RecordCollector<Record: Sendable>: RecordCollection {
    private let stream: NotificationStream<Record>
    private let malformed: (@Sendable (BLEError) -> Void)?
    private let collected = Mutex<[Record]>([])

    init(_ stream: NotificationStream<Record>, _ malformed: (@Sendable (BLEError) -> Void)? = nil) {
        self.stream = stream
        self.malformed = malformed
    }

    /// The collected records.
    var records: [Record] { collected.withLock { $0 } }

    func collect(_ noteProgress: @Sendable () -> Void) async throws(BLEError) {
        var records = stream.makeAsyncIterator()
        while true {
            do throws(BLEError) {
                guard let record = try await records.next() else { return }
                try take(record)
            } catch {
                // A stream without remaining records throws this error.
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

/// Ends a transfer without progress.
private final class TransferWatch: Sendable {
    private let central: Central
    private let lastProgress: Mutex<Duration>

    init(_ central: Central) {
        self.central = central
        lastProgress = Mutex(central.elapsed())
    }

    /// Notes progress.
    func reset() { lastProgress.withLock { $0 = central.elapsed() } }

    /// Throws `timedOut` after the given time without progress. Returns if the task is cancelled.
    func expire(after timeout: Duration) async throws {
        while true {
            let left = lastProgress.withLock { $0 } + timeout - central.elapsed()
            guard left > .zero else {
                throw BLEError(.timedOut, "neither a record nor an answer arrived within \(timeout)")
            }
            do {
                try await central.clock.sleep(for: left)
            } catch {
                return
            }
        }
    }
}
