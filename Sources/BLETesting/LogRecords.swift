public import Logging

/// The messages of a logger, for a test to assert on and to wait for: what happened on a simulated radio, or what a
/// central or a host did.
///
/// ```swift
/// let log = LogRecords()
/// let radio = SimulatedRadio(clock: clock, logger: log.logger())
/// …
/// #expect(log.metadata(of: "simulated read").count == 3)
/// ```
///
/// Each request has a message, with its `central`, `peripheral`, `handle` and answer; so has each advertisement, each
/// notified value, each link, its end, and each fault.
///
/// In a test with the trait ``FailureTrace``, the messages are also in the test's trace.
public final class LogRecords: Sendable {
    /// One message.
    public struct Record: Sendable, CustomStringConvertible {
        /// Its level: debug for links, adapters and faults, trace for the rest.
        public let level: Logger.Level
        /// What happened, such as `simulated read`.
        public let message: String
        /// Its details, as text.
        public let metadata: [String: String]

        /// The time on the radio's clock, if it is a `ManualClock`, the message, and the rest of its details.
        public var description: String {
            let details = metadata.filter { $0.key != "time" }.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }
            return ([metadata["time"], message].compactMap(\.self) + details).joined(separator: " ")
        }
    }

    private struct State {
        var records: [Record] = []
        var count = 0
    }

    private let state = SharedValue(State())
    private let limit: Int

    /// Creates a log without messages.
    ///
    /// - Parameter limit: the number of messages to keep, the newest. All by default.
    public init(limit: Int = .max) { self.limit = limit }

    /// A logger whose messages are recorded.
    public func logger(_ level: Logger.Level = .trace) -> Logger {
        let current = (Logger.current.handler as? RecordingLogHandler)?.logs ?? []
        return Logger(label: "records") { _ in
            RecordingLogHandler(logs: [self] + current.filter { $0 !== self }, logLevel: level)
        }
    }

    /// The messages so far, or the newest of them.
    public var all: [Record] { state.value.records.suffix(limit) }

    /// The number of messages so far.
    public var count: Int { state.value.count }

    fileprivate func append(_ record: Record) {
        state.change { [limit] state in
            state.count += 1
            state.records.append(record)
            // Many are removed at once, so that this happens rarely.
            if state.records.count / 2 >= limit { state.records.removeFirst(state.records.count - limit) }
        }
    }

    /// Returns the metadata of the messages with a text.
    public func metadata(of message: String) -> [[String: String]] {
        all.filter { $0.message == message }.map(\.metadata)
    }

    /// Returns once the logger has had that message.
    public func until(_ message: String) async throws {
        try await state.until { $0.records.contains { $0.message == message } }
    }
}

private struct RecordingLogHandler: LogHandler {
    let logs: [LogRecords]
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let record = LogRecords.Record(
            level: event.level, message: event.message.description,
            metadata: (event.metadata ?? [:]).mapValues(\.description))
        for log in logs { log.append(record) }
    }
}
