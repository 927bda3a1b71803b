import BLEFakeBlueZ
import BLETestSupport
import Foundation
public import Subprocess
import Synchronization
internal import SystemPackage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A program that a test runs. It ends when the test process ends, even if that crashes.
///
/// Only for suites with the trait `.startsProcesses`.
public struct TestProgram: Sendable {
    /// The status and output of a program that has ended.
    public struct Result: Sendable {
        /// As a shell reports it: 128 and the signal's number if a signal ended the program.
        public let status: Int32
        /// Whether a signal ended the program.
        public let isKilled: Bool
        public let output: String
        public let errors: String
    }

    /// Thrown when the work beside a program has thrown.
    public struct Failure: Error, CustomStringConvertible {
        public let reason: any Error
        public let output: String
        public let errors: String
        public var description: String { "\(reason)\n– output:\n\(output)\n– errors:\n\(errors)" }
    }

    /// The standard input of a program.
    public enum Input: Sendable {
        /// This text, available as a whole when the program starts.
        case text(String)
        /// Text that the test writes while the program runs.
        case writer
    }

    private let arguments: [String]
    private let environment: [Environment.Key: String?]
    private let input: Input

    /// - Parameters:
    ///   - path: the program's path, or its name.
    ///   - environment: variables that differ from this process's; nil removes one.
    public init(
        _ path: String, _ arguments: [String] = [], environment: [Environment.Key: String?] = [:],
        input: Input = .text("")
    ) {
        // The kernel sends the signal when the *thread* ends that started the program. Subprocess 1.0.2 starts all
        // programs on one thread, which ends with the process; Package.swift requires exactly that version.
        self.arguments = ["--pdeathsig", "KILL", "--", path] + arguments
        self.environment = environment
        self.input = input
    }

    /// A line for `/bin/sh` on a terminal of its own, as `script` makes one. What is to outlive Ctrl-C begins with `exec`: a
    /// shell that waits for a program ends by the signal, too.
    public static func onTerminal(
        _ line: String, environment: [Environment.Key: String?] = [:], input: Input = .writer
    ) -> TestProgram {
        let terminal: [Environment.Key: String?] = ["TERM": "xterm", "SHELL": "/bin/sh"]
        return TestProgram(
            "script", ["-qfec", line, "/dev/null"], environment: terminal.merging(environment) { $1 }, input: input)
    }

    /// Runs the program to its end, and `body` beside it. If `body` throws, the program is killed, and ``Failure``
    /// thrown.
    ///
    /// `body` is not cancelled when the program ends first: waits for its output then throw ``ProgramOutput/Ended``.
    @discardableResult
    public func run(_ body: (RunningProgram) async throws -> Void = { _ in }) async throws -> Result {
        try StartsProcesses.requireLane()
        // In the guest, a program that runs is a step of its test.
        let step = Guest.isHere ? arguments.dropFirst(3).joined(separator: " ") : nil
        if let step { GuestProgress.shared.begin(command: step) }
        defer { if let step { GuestProgress.shared.end(command: step, "ended") } }
        switch input {
        case .text(let text):
            let file = try FileDescriptor(rawValue: UnnamedFile.make(holding: text))
            return try await run(input: .fileDescriptor(file, closeAfterSpawningProcess: true), { _ in nil }, body)
        case .writer:
            return try await run(input: .inputWriter, { $0.standardInputWriter }, body)
        }
    }

    /// Writes what is known of a program to standard error. The errors of a test that its time limit has cancelled are
    /// not reported.
    private func show(_ program: RunningProgram, _ reason: any Error) {
        let command = arguments.dropFirst(3).joined(separator: " ")
        let streams = [("output", program.output), ("errors", program.errors)].map { name, stream in
            "– \(name)\(stream.hasEnded ? " to the end" : " so far"):\n\(stream.text.suffix(2000))"
        }
        let lines = ["cancelled beside “\(command)”: \(reason)"] + streams
        FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    }

    private func run<Input: InputProtocol>(
        input: Input, _ writer: (Execution<Input, SequenceOutput, SequenceOutput>) -> StandardInputWriter?,
        _ body: (RunningProgram) async throws -> Void
    ) async throws -> Result {
        // This process must not end when a program ends before it has read all of its input.
        _ = signal(SIGPIPE, SIG_IGN)
        let outcome = try await Subprocess.run(
            .name("setpriv"), arguments: Arguments(arguments), environment: .inherit.updating(environment),
            input: input, output: .sequence, error: .sequence
        ) { execution in
            let running = RunningProgram(input: writer(execution)) { try? execution.send(signal: $0) }
            defer { running.didEnd() }
            async let output: Void = running.output.record(execution.standardOutput)
            async let errors: Void = running.errors.record(execution.standardError)
            do {
                try await body(running)
            } catch {
                running.send(.kill)
                if Task.isCancelled { show(running, error) }
                _ = try await (output, errors)
                throw Failure(reason: error, output: running.output.text, errors: running.errors.text)
            }
            await running.closeInput()
            _ = try await (output, errors)
            return (running.output.text, running.errors.text)
        }
        let (status, isKilled): (Int32, Bool) =
            switch outcome.terminationStatus {
            case .exited(let code): (code, false)
            case .signaled(let signal): (128 + signal, true)
            }
        return Result(
            status: status, isKilled: isKilled, output: outcome.closureResult.0, errors: outcome.closureResult.1)
    }
}
