import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Calls a closure at the first of some signals that ask the program to end.
///
/// A second SIGINT or SIGTERM of the same kind exits the process, and so does work that has not ended in time. A second
/// signal of another kind does not: a terminal that closes sends several signals, and systemd sends two kinds at once.
/// A signal that was ignored when the program started, for example by `nohup`, stays ignored.
package final class SignalWatch {
    /// How long the work may take to end, in seconds.
    private static let grace = 30.0

    private final class Received: Sendable {
        struct State {
            var number: Int32?
            var interrupted: (@Sendable () -> Void)?
            /// Whether the work has ended. The process may go on.
            var isOver = false
        }

        let state = Mutex(State())
    }

    private let received = Received()
    private var sources: [any DispatchSourceSignal] = []

    /// Watches from now on, and ignores the given signals. Until Dispatch has registered a source, its signal ends the
    /// process. If it was ignored until then, it could be lost.
    package init(_ signals: Set<ProgramSignal>, ignoring ignored: Set<ProgramSignal> = []) async {
        for signal in signals where !Self.isIgnored(signal.number) {
            let number = signal.number
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [received] in
                if !ignored.contains(signal) { Self.receive(number, received) }
            }
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.resume()
            }
            sources.append(source)
        }
    }

    deinit {
        received.state.withLock { $0.isOver = true }
        for source in sources { source.cancel() }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return handler.map { unsafeBitCast($0, to: Int.self) } == 1
    }

    private static func receive(_ number: Int32, _ received: Received) {
        let (earlier, interrupted) = received.state.withLock { state in
            defer { state.number = state.number ?? number }
            return (state.number, state.interrupted)
        }
        if earlier == nil {
            interrupted?()
            // If the work has not ended by then, the system removes the registrations of the process.
            DispatchQueue.global().asyncAfter(deadline: .now() + grace) {
                if !received.state.withLock({ $0.isOver }) { _exit(128 + number) }
            }
        }
        if earlier == number, number != SIGHUP { _exit(128 + number) }
    }

    /// Calls `body` at the first signal, even if that has already arrived.
    package func interrupt(_ body: @escaping @Sendable () -> Void) {
        let hasCome = received.state.withLock { state in
            state.interrupted = body
            return state.number != nil
        }
        if hasCome { body() }
    }

    /// The first signal, if there was one.
    package var number: Int32? { received.state.withLock { $0.number } }
}
