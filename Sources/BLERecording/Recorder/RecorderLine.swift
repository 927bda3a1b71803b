import BLE

/// A backend's way to a recorder, which marks what it reports if another backend has started before.
struct RecorderLine: Sendable {
    private let recorder: Recorder
    /// The backend's number among those of the recorder, from 1 on. Nil before it has started.
    private var number: Int?

    init(_ recorder: Recorder) { self.recorder = recorder }

    /// Begins the time of the recording, unless another backend has.
    mutating func begin(_ clock: any Clock<Duration>, stack: String) {
        if number == nil { number = recorder.begin(clock, stack: stack) }
    }

    private func marked(_ entry: RecordedEntry) -> RecordedEntry {
        guard let number, number > 1 else { return entry }
        var entry = entry
        entry.backend = number
        return entry
    }

    func call(_ entry: RecordedEntry) -> Int { recorder.call(marked(entry)) }

    func reply(_ call: Int, _ error: BLEError? = nil, _ fill: (inout RecordedEntry) -> Void = { _ in }) {
        recorder.reply(call, error, fill)
    }

    func cancel(_ call: Int) { recorder.cancel(call) }

    func event(_ entry: RecordedEntry) { recorder.event(marked(entry)) }

    /// Records a call with its cancellation and its end; see ``Recorder``.
    func record<Value: Sendable>(
        _ entry: RecordedEntry, isolation: isolated (any Actor)? = #isolation,
        reply fill: (Value, inout RecordedEntry) -> Void = { _, _ in },
        _ body: (_ call: Int) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        try await recorder.record(marked(entry), isolation: isolation, reply: fill, body)
    }
}
