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

    /// How long work may take to end after a signal, in seconds.
    package static let grace = 30.0

    /// Watches from now on. Until Dispatch has registered a source, its signal ends the process. If it was ignored
    /// until then, it could be lost.
    ///
    /// - Parameters:
    ///   - grace: how long the work may take to end, in seconds.
    ///   - isHandled: called at each signal. If it returns true, the signal counts as if it had not arrived.
    package init(
        _ signals: Set<ProgramSignal>, grace: Double = SignalWatch.grace,
        unless isHandled: @escaping @Sendable (ProgramSignal) -> Bool = { _ in false }
    ) async {
        for signal in signals {
            let (id, received) = (ObjectIdentifier(received), received)
            await Self.add(id, signal.number) {
                if !isHandled(signal) { Self.receive(signal.number, received, grace) }
            }
        }
    }

    deinit {
        received.state.withLock { $0.isOver = true }
        let id = ObjectIdentifier(received)
        Self.watched.withLock { watched in
            for number in watched.keys { watched[number]?.watchers[id] = nil }
        }
    }

    // MARK: The signals of the process

    /// A signal that is, or was, watched. Dispatch does not give it back: its source stays, and without a watch does
    /// what the signal did before.
    private struct Watched {
        let before: sigaction
        var watchers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    }

    private static let watched = Mutex<[Int32: Watched]>([:])

    private static func add(_ id: ObjectIdentifier, _ number: Int32, _ watcher: @escaping @Sendable () -> Void) async {
        let isNew = watched.withLock { watched -> Bool in
            if watched[number] != nil {
                watched[number]?.watchers[id] = watcher
                return false
            }
            var action = sigaction()
            sigaction(number, nil, &action)
            guard !isIgnored(action) else { return false }
            watched[number] = Watched(before: action, watchers: [id: watcher])
            return true
        }
        guard isNew else { return }
        let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
        // The handler keeps the source.
        source.setEventHandler { withExtendedLifetime(source) { came(number) } }
        await withCheckedContinuation { registered in
            source.setRegistrationHandler { registered.resume() }
            source.resume()
        }
        #if canImport(Darwin)
            // There, a source only observes.
            Darwin.signal(number, SIG_IGN)
        #endif
    }

    private static func came(_ number: Int32) {
        let watchers = watched.withLock { watched in
            let watchers = watched[number]?.watchers ?? [:]
            if watchers.isEmpty, var before = watched[number]?.before { sigaction(number, &before, nil) }
            return watchers
        }
        for watcher in watchers.values { watcher() }
        if watchers.isEmpty { kill(getpid(), number) }
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #elseif canImport(Musl)
            let handler = action.__sa_handler.sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return handler.map { unsafeBitCast($0, to: Int.self) } == 1
    }

    private static func receive(_ number: Int32, _ received: Received, _ grace: Double) {
        let (earlier, interrupted) = received.state.withLock { state in
            defer { state.number = state.number ?? number }
            return (state.number, state.interrupted)
        }
        if earlier == nil {
            // If the work has not ended by then, the system removes the registrations of the process. The time counts
            // even if `interrupted` does not return.
            DispatchQueue.global().asyncAfter(deadline: .now() + grace) {
                if !received.state.withLock({ $0.isOver }) { _exit(128 + number) }
            }
            interrupted?()
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
