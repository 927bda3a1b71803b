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
public final class LogRecords: Sendable {
    /// One message.
    public struct Record: Sendable {
        /// Its level: debug for links, adapters and faults, trace for the rest.
        public let level: Logger.Level
        /// What happened, such as `simulated read`.
        public let message: String
        /// Its details, as text.
        public let metadata: [String: String]
    }

    private let state = SharedValue<[Record]>([])

    /// Creates a log without messages.
    public init() {}

    /// A logger whose messages are recorded.
    public func logger(_ level: Logger.Level = .trace) -> Logger {
        Logger(label: "records") { _ in RecordingLogHandler(state, level) }
    }

    /// The messages so far.
    public var all: [Record] { state.value }

    /// Returns the metadata of the messages with a text.
    public func metadata(of message: String) -> [[String: String]] {
        state.value.filter { $0.message == message }.map(\.metadata)
    }

    /// Returns once the logger has had that message.
    public func until(_ message: String) async throws {
        try await state.until { $0.contains { $0.message == message } }
    }
}

private struct RecordingLogHandler: LogHandler {
    let records: SharedValue<[LogRecords.Record]>
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(_ records: SharedValue<[LogRecords.Record]>, _ level: Logger.Level) {
        self.records = records
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let record = LogRecords.Record(
            level: event.level, message: event.message.description,
            metadata: (event.metadata ?? [:]).mapValues(\.description))
        records.change { $0.append(record) }
    }
}
