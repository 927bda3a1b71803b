#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Runs `body` until it has ended, or until a signal asks the program to end.
///
/// The first signal cancels `body`: each wait in it throws `cancelled`, and scopes such as
/// ``withCentral(backend:configuration:waits:_:)`` end their links and registrations. A second SIGINT or SIGTERM of the
/// same kind exits the process at once, with 128 and its number as status, and so does a body that has not ended after
/// 30 s. A signal that was ignored when the program started, as by `nohup`, stays ignored. Afterwards, signals do again
/// what they did before.
///
/// ```swift
/// try await untilSignal {
///     try await withCentral(waits: true) { central in
///         for try await found in central.discoveries() { print(found.peripheral) }
///     }
/// }
/// ```
///
/// Throws what `body` throws, except cancellation after a signal.
///
/// - Returns: the signal. Nil if `body` has ended by itself.
@discardableResult
public func untilSignal(
    _ signals: Set<ProgramSignal> = [.interrupt, .terminate],
    _ body: @escaping @concurrent @Sendable () async throws -> Void
) async throws -> ProgramSignal? {
    try await untilSignal(signals, grace: SignalWatch.grace, body)
}

/// - Parameter grace: how long `body` may take to end after a signal, in seconds.
package func untilSignal(
    _ signals: Set<ProgramSignal>, grace: Double, _ body: @escaping @concurrent @Sendable () async throws -> Void
) async throws -> ProgramSignal? {
    let watch = await SignalWatch(signals, grace: grace)
    let task = Task { try await body() }
    watch.interrupt { task.cancel() }
    let result = await withTaskCancellationHandler {
        await task.result
    } onCancel: {
        task.cancel()
    }
    let signal = watch.number.flatMap(ProgramSignal.init)
    do {
        try result.get()
    } catch  where signal != nil && (error is CancellationError || (error as? BLEError)?.isCancellation == true) {
        // The end that was asked for.
    }
    return signal
}

/// Runs a program until its work has ended, or until a signal asks it to end, and returns then, as
/// ``untilSignal(_:_:)`` does. If the work fails, its error is written to standard error, and the process exits with
/// status 1.
///
/// ```swift
/// await runProgram {
///     try await withPeripheralHost(waits: true) { host in try await host.serve(.battery()) }
/// }
/// ```
///
/// - Returns: the signal. Nil if the work has ended by itself.
@discardableResult
public func runProgram(
    until signals: Set<ProgramSignal> = [.interrupt, .terminate],
    _ work: @escaping @concurrent @Sendable () async throws -> Void
) async -> ProgramSignal? {
    do {
        return try await untilSignal(signals, work)
    } catch {
        let text = Array("\(error)\n".utf8)
        _ = text.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(1)
    }
}
