public import BLE
import Dispatch
import Synchronization
import Waiting

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Takes down what backends report to it, in memory or in a file.
///
/// The backends of a program may share one. Their time is the same, and so is the numbering of their calls. A file is
/// written on a thread of its own, so a slow disk does not hold up Bluetooth.
public final class Recorder: Sendable {
    private struct State {
        var header: Recording.Header?
        var elapsed: (@Sendable () -> Duration)?
        /// The entries of a recording in memory, or those that are not in the file yet.
        var entries: [RecordedEntry] = []
        /// Of a recording in memory, the entries before those, in full parts. Copies share them, so that the next entry
        /// after a copy does not copy everything.
        var parts: [[RecordedEntry]] = []
        /// The number of entries that did not find room.
        var lost = 0
        var isWriting = false
        var hasWrittenHeader = false
        /// Whether nothing more is taken down.
        var isClosed = false
        var error: BLEError?
        /// The number of backends that have started.
        var backendCount = 0
        var lastCall = 0
        /// The calls without a reply.
        var open: Set<Int> = []
    }

    /// The number of entries that are kept, or written, together.
    private static let partCount = 256

    private let state = Mutex(State())
    private let file: RecordingFile?
    private let limit: Int
    private let queue = DispatchQueue(label: "ble recording")

    /// Creates a recorder in memory.
    ///
    /// - Parameter limit: the number of entries that it keeps. Later ones are lost, and counted.
    public init(limit: Int = 1_000_000) {
        file = nil
        self.limit = limit
    }

    /// Creates a recorder for a file, which only this user can read. What it contained is replaced as soon as a backend
    /// starts.
    ///
    /// Throws `recordingFailed` if the file cannot be written.
    public init(path: String) throws(BLEError) {
        let file = try RecordingFile(path)
        file.makePrivate()
        self.file = file
        // Entries that wait for a slow disk.
        limit = 100_000
    }

    deinit {
        guard let file else { return }
        // No work of the queue remains, because it would hold this recorder.
        if !state.withLock({ $0.isClosed }) { _ = file.close() }
    }

    /// What was recorded so far. Of a file, only what is not written yet.
    public var recording: Recording {
        let (header, parts) = state.withLock { state in
            (state.header, state.parts + [state.entries] + (state.lost > 0 ? [[gap(state)]] : []))
        }
        return Recording(header ?? Recording.Header(stack: "none"), entries: Array(parts.joined()))
    }

    /// Why the file could not be written further. The program goes on without a recording.
    public var error: BLEError? { state.withLock { $0.error } }

    /// Writes the rest of the file and closes it. What is reported later is left out.
    ///
    /// Throws `recordingFailed` if not everything could be written, and `cancelled` if the task is cancelled before;
    /// the rest is written even so.
    public func close() async throws(BLEError) {
        let end = Outcome<Void>()
        state.withLock { state in
            // Within the lock, so that the work of the first call comes before that of others.
            if let file, !state.isClosed {
                queue.async {
                    self.write()
                    if let error = file.close() { self.fail(error) }
                }
            }
            state.isClosed = true
            queue.async { end.deliver(.success(())) }
        }
        try await end.wait()
        if let error { throw error }
    }

    // MARK: Entries

    /// Begins the time of the recording, unless another backend has. Returns the backend's number, from 1 on.
    func begin(_ clock: any Clock<Duration>, stack: String) -> Int {
        state.withLock { state in
            if state.elapsed == nil {
                state.elapsed = Central.stopwatch(clock)
                state.header = Recording.Header(stack: stack, began: Date().timeIntervalSince1970)
            }
            state.backendCount += 1
            return state.backendCount
        }
    }

    /// Records a call. Returns its number.
    func call(_ entry: RecordedEntry) -> Int {
        var entry = entry
        return add { state in
            state.lastCall += 1
            state.open.insert(state.lastCall)
            entry.call = state.lastCall
            return (entry, state.lastCall)
        }
    }

    /// Records the end of a call.
    func reply(_ call: Int, _ error: BLEError? = nil, _ fill: (inout RecordedEntry) -> Void = { _ in }) {
        var entry = RecordedEntry(.reply, call: call, error: error)
        fill(&entry)
        add { state in
            state.open.remove(call)
            return (entry, ())
        }
    }

    /// Records that the caller has given up, if the call still goes on.
    func cancel(_ call: Int) {
        add { state in (state.open.contains(call) ? RecordedEntry(.cancel, call: call) : nil, ()) }
    }

    func event(_ entry: RecordedEntry) { add { _ in (entry, ()) } }

    /// Records a call with its cancellation and its end.
    ///
    /// - Parameter body: gets the number of the call.
    func record<Value: Sendable>(
        _ entry: RecordedEntry, isolation: isolated (any Actor)? = #isolation,
        reply fill: (Value, inout RecordedEntry) -> Void = { _, _ in },
        _ body: (_ call: Int) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        let call = call(entry)
        let result: Result<Value, BLEError> = await withTaskCancellationHandler {
            do throws(BLEError) {
                return .success(try await body(call))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            cancel(call)
        }
        switch result {
        case .success(let value): reply(call) { fill(value, &$0) }
        case .failure(let error): reply(call, error)
        }
        return try result.get()
    }

    private func add<Result>(_ make: (inout State) -> (RecordedEntry?, Result)) -> Result {
        let (result, writes): (Result, Bool) = state.withLock { state in
            let (made, result) = make(&state)
            guard var entry = made, !state.isClosed, state.error == nil else { return (result, false) }
            if file == nil, state.entries.count == Self.partCount {
                state.parts.append(state.entries)
                state.entries = []
            }
            guard state.parts.count * Self.partCount + state.entries.count < limit else {
                state.lost += 1
                return (result, false)
            }
            if state.lost > 0, file != nil {
                state.entries.append(gap(state))
                state.lost = 0
            }
            entry.time = state.elapsed?() ?? .zero
            state.entries.append(entry)
            defer { state.isWriting = state.isWriting || file != nil }
            return (result, file != nil && !state.isWriting)
        }
        if writes { queue.async { self.write() } }
        return result
    }

    private func gap(_ state: State) -> RecordedEntry {
        RecordedEntry(.gap, at: state.elapsed?() ?? .zero, number: state.lost)
    }

    // MARK: File

    /// Writes what there is. On the queue.
    private func write() {
        guard let file else { return }
        let writer = LineWriter()
        while true {
            let (header, entries): (Recording.Header?, [RecordedEntry]) = state.withLock { state in
                var entries: [RecordedEntry] = []
                swap(&entries, &state.entries)
                if state.lost > 0, entries.isEmpty {
                    entries = [gap(state)]
                    state.lost = 0
                }
                if entries.isEmpty || state.error != nil { state.isWriting = false }
                defer { state.hasWrittenHeader = state.hasWrittenHeader || !entries.isEmpty }
                return (state.hasWrittenHeader ? nil : state.header ?? Recording.Header(stack: "none"), entries)
            }
            guard !entries.isEmpty else { return }
            if let header {
                file.truncate()
                send(writer.line(header), to: file)
            }
            // In parts, so that a killed program has lost little.
            for part in stride(from: 0, to: entries.count, by: Self.partCount) {
                var data = Data()
                for entry in entries[part..<min(part + Self.partCount, entries.count)] {
                    data.append(writer.line(entry))
                }
                send(data, to: file)
            }
        }
    }

    private func send(_ data: Data, to file: RecordingFile) {
        guard error == nil else { return }
        if let error = file.write(data) { fail(error) }
    }

    private func fail(_ error: BLEError) { state.withLock { $0.error = $0.error ?? error } }
}
