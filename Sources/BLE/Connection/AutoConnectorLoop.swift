internal import Synchronization
internal import Waiting

/// Asks an ``AutoConnector`` for its next step whenever something has happened, or the time of a step has come.
package final class AutoConnectorLoop<ID: Hashable & Comparable & Sendable>: Sendable {
    private let connector: Mutex<AutoConnector<ID>>
    private let signals: BoundedStream<Void>
    private let signal: BoundedStream<Void>.Producer

    package init(_ connector: AutoConnector<ID>) {
        self.connector = Mutex(connector)
        (signals, signal) = BoundedStream.make(policy: .dropOldest(capacity: 1))
    }

    /// Records an event.
    @discardableResult package func record<Result: Sendable>(
        _ event: (inout AutoConnector<ID>) -> Result
    ) -> Result {
        defer { signal.yield(()) }
        return connector.withLock { event(&$0) }
    }

    /// Records one in range.
    package func found(_ id: ID, rssi: Int?) {
        if connector.withLock({ $0.found(id, rssi: rssi) }) { signal.yield(()) }
    }

    /// Ends ``run(on:begin:connect:)`` with an error.
    package func finish(_ error: BLEError) { signal.finish(throwing: error) }

    /// Connects, each time in a task of its own, until this task is cancelled or ``finish(_:)``.
    ///
    /// - Parameters:
    ///   - begin: runs first. If it throws, nothing else is done.
    ///   - connect: carries out a step.
    package func run(
        on central: Central, begin: () async throws(BLEError) -> Void,
        connect: @escaping @Sendable (ID) async -> Void
    ) async throws(BLEError) {
        let result = await withDiscardingTaskGroup { group -> Result<Void, BLEError> in
            var alarm: (time: Duration, expiry: Expiry)?
            let result: Result<Void, BLEError>
            do throws(BLEError) {
                try await begin()
                signal.yield(())
                for try await _ in signals {
                    let now = central.elapsed()
                    switch connector.withLock({ $0.next(now: now) }) {
                    case .idle: break
                    case .wait(let time):
                        if let alarm, alarm.time > now, alarm.time <= time { break }
                        alarm?.expiry.cancel()
                        let expiry = Expiry(after: max(.zero, time - now), clock: central.deadlineClock) { [signal] in
                            signal.yield(())
                        }
                        alarm = (time, expiry)
                    case .connect(let id): group.addTask { await connect(id) }
                    }
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            alarm?.expiry.cancel()
            group.cancelAll()
            return result
        }
        try result.get()
    }

    /// Starts `work`, which tells its elements in a stream, and ends when that is no longer read.
    ///
    /// - Parameter policy: what happens to elements that are not read.
    package static func start<Element: Sendable>(
        on central: Central, policy: OverflowPolicy,
        _ work: @escaping @Sendable (BoundedStream<Element>.Producer) async throws(BLEError) -> Void
    ) -> BoundedStream<Element> {
        let running = Outcome<Task<Void, Never>>()
        let (elements, producer) = BoundedStream.make(of: Element.self, policy: policy) {
            Task { try? await running.wait().cancel() }
        }
        let task = Task(executorPreference: central.taskExecutor) {
            do throws(BLEError) {
                try await work(producer)
                producer.finish()
            } catch {
                producer.finish(throwing: error)
            }
        }
        running.deliver(.success(task))
        return elements
    }
}
