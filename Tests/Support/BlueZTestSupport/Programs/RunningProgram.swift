import BLETestSupport
public import Subprocess
import Synchronization

/// A program while it runs.
public final class RunningProgram: Sendable {
    /// What it has written to its standard output.
    public let output = ProgramOutput()
    /// What it has written to its standard error.
    public let errors = ProgramOutput()
    private let input: StandardInputWriter?
    /// Sends a signal; nil once the program has ended.
    private let sender: Mutex<(@Sendable (Signal) -> Void)?>

    init(input: StandardInputWriter?, sender: @escaping @Sendable (Signal) -> Void) {
        self.input = input
        self.sender = Mutex(sender)
    }

    func didEnd() { sender.withLock { $0 = nil } }

    /// Sends a signal to the program. Does nothing if it has ended.
    public func send(_ signal: Signal) { sender.withLock { $0?(signal) } }

    /// Thrown for a write to a program whose whole input was given at its start.
    public struct NoWriter: Error, CustomStringConvertible {
        public let description = "the program's input is not .writer (of ble: start it with time: .virtual)"
    }

    /// Writes to the program's standard input, which must be ``TestProgram/Input/writer``.
    public func write(_ text: String) async throws {
        guard let input else { throw NoWriter() }
        _ = try await input.write(text)
    }

    /// Returns once `condition`, which is asked again and again, holds. Throws ``ProgramOutput/Ended``, with what is on
    /// the program's standard error, if its standard output ends first: it brings nothing about any longer.
    public func until(_ condition: () async throws -> Bool) async throws {
        while true {
            let hasEnded = output.hasEnded
            if try await condition() { return }
            if hasEnded { throw ProgramOutput.Ended(text: errors.text) }
            try await ContinuousClock().sleep(for: .milliseconds(10))
        }
    }

    /// Ends the program's standard input.
    public func closeInput() async { try? await input?.finish() }
}

/// The output of a program on one of its streams, as it arrives.
public final class ProgramOutput: Sendable {
    /// Thrown when the output has ended without the awaited text.
    public struct Ended: Error, CustomStringConvertible {
        public let text: String
        public var description: String { "the program's output ended too early: \(text)" }
    }

    private struct State {
        var bytes: [UInt8] = []
        var isComplete = false
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    private let state = SharedValue(State())

    /// The text written so far.
    public var text: String { state.value.text }

    /// Whether nothing more can be written.
    public var hasEnded: Bool { state.value.isComplete }

    func record(_ buffers: SubprocessOutputSequence) async throws {
        defer { state.change { $0.isComplete = true } }
        for try await buffer in buffers {
            let bytes = buffer.withUnsafeBytes { Array($0) }
            state.change { $0.bytes += bytes }
        }
    }

    /// Returns once `text` has been written. Throws ``Ended`` if the stream ends without it.
    public func until(_ text: String) async throws { try await until { $0.contains(text) } }

    /// Returns once `text` has been written that many times. Throws ``Ended`` if the stream ends first.
    public func until(count: Int, _ text: String) async throws {
        try await until { $0.ranges(of: text).count >= count }
    }

    /// Returns once `text` has been written after `earlier`. Throws ``Ended`` if the stream ends without it.
    public func until(_ text: String, after earlier: String) async throws {
        try await until { written in
            written.firstRange(of: earlier).map { written[$0.upperBound...].contains(text) } ?? false
        }
    }

    /// Returns once that many lines have been written. Throws ``Ended`` if the stream ends first.
    public func until(lineCount: Int) async throws {
        try await until { text in text.utf8.count { $0 == UInt8(ascii: "\n") } >= lineCount }
    }

    /// Returns once the text written so far is enough. Throws ``Ended`` if the stream ends first.
    package func until(_ isEnough: @escaping @Sendable (String) -> Bool) async throws {
        try await state.until { $0.isComplete || isEnough($0.text) }
        guard isEnough(text) else { throw Ended(text: text) }
    }
}
