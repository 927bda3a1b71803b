public import BLE

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What happened between a program and its Bluetooth stack, with times: everything at the seam of a central or a host.
///
/// ```swift
/// let recorder = Recorder()
/// let central = try await Central(backend: .recording(.bluez(), to: recorder))
/// …
/// let radio = try await SimulatedRadio(replaying: recorder.recording, clock: ManualClock())
/// ```
///
/// As a file, it has a line of JSON for ``Header``, and one for each ``RecordedEntry``. Values and addresses are in it
/// as they were; ``redacted(_:)`` takes them out. Passkeys and keys are never recorded.
public struct Recording: Sendable {
    /// The first line of a file.
    public struct Header: Hashable, Codable, Sendable {
        /// `ble-recording`.
        public var format = Recording.format
        /// The version of the format, 1.
        public var version = Recording.version
        /// The stack that was recorded, such as `BlueZCentral`.
        public var stack: String
        /// The time at which the recording began, in seconds since 1970. Nil if it is not known.
        public var began: Double?
        /// What was taken out.
        public var redacted: Redaction?

        /// Creates a header.
        public init(stack: String, began: Double? = nil, redacted: Redaction? = nil) {
            self.stack = stack
            self.began = began
            self.redacted = redacted
        }
    }

    static let format = "ble-recording"
    static let version = 1

    /// About the recording.
    public var header: Header
    /// What happened, in order.
    public var entries: [RecordedEntry]

    /// Creates a recording.
    public init(_ header: Header, entries: [RecordedEntry] = []) {
        self.header = header
        self.entries = entries
    }

    /// Reads a file's content. An incomplete last line, of a program that was killed, is left out.
    ///
    /// Throws `invalidValue`, with the number of the line, for what is no recording or one of a later version.
    public init(lines: Data) throws(BLEError) {
        var lines = lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let decoder = JSONDecoder()
        // What follows the last line feed is empty, whole, or was cut off.
        if lines.count > 1, (try? decoder.decode(RecordedEntry.self, from: Data(lines[lines.count - 1]))) == nil {
            lines.removeLast()
        }
        func decode<Value: Decodable>(_ line: Data.SubSequence, _ number: Int) throws(BLEError) -> Value {
            do {
                return try decoder.decode(Value.self, from: Data(line))
            } catch {
                throw BLEError(
                    .invalidValue, "line \(number) is not one of a recording: \(Self.reason(error))",
                    isRetryable: false)
            }
        }
        guard let first = lines.first, !first.isEmpty else {
            throw BLEError(.invalidValue, "the recording is empty", isRetryable: false)
        }
        header = try decode(first, 1)
        guard header.format == Self.format, header.version == Self.version else {
            throw BLEError(
                .invalidValue, "a recording of the format \(header.format) \(header.version) cannot be read",
                isRetryable: false, remedy: "This version reads \(Self.format) \(Self.version).")
        }
        entries = []
        entries.reserveCapacity(lines.count)
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            entries.append(try decode(line, index + 1))
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context):
            context.debugDescription
        case DecodingError.keyNotFound(let key, _): "“\(key.stringValue)” is missing"
        default: "\(error)"
        }
    }

    /// What each of the backends that shared the recorder has reported, in the order in which they started. For the
    /// replay of one of several centrals: it repeats what all calls of a recording met, as if one central had made
    /// them.
    public var backends: [Recording] {
        var found: [Int: Recording] = [:]
        var callers: [Int: Int] = [:]
        for entry in entries where entry.what != .gap {
            let caller = entry.call.flatMap { callers[$0] }
            let backend = entry.what.hasCaller ? caller ?? 1 : entry.backend ?? 1
            if let call = entry.call, caller == nil { callers[call] = backend }
            found[backend, default: Recording(header)].entries.append(entry)
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The content of a file.
    public var lines: Data {
        let writer = LineWriter()
        var data = writer.line(header)
        for entry in entries { data.append(writer.line(entry)) }
        return data
    }
}

/// Writes lines of JSON with the keys in order.
struct LineWriter {
    private let encoder = JSONEncoder()

    init() { encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes] }

    /// Returns a line with its line feed. Everything in an entry can be encoded, so it is never empty.
    func line(_ value: some Encodable) -> Data {
        var data = (try? encoder.encode(value)) ?? Data()
        data.append(UInt8(ascii: "\n"))
        return data
    }
}
