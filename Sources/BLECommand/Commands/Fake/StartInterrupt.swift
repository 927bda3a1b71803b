import BLE
import Dispatch
import Synchronization
import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// SIGINT until a command has started: it ends the wait for the start, and a second one the process. Later, it is for
/// the command.
final class StartInterrupt: Sendable {
    private enum State {
        case starting
        case interrupted
        case started
    }

    private let state = Mutex(State.starting)
    private let outcome = Outcome<Void>()

    /// Watches until the source is cancelled. A signal that was ignored when the program started stays ignored.
    static func watch() async -> (StartInterrupt, any DispatchSourceSignal) {
        let interrupt = StartInterrupt()
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler { interrupt.receive() }
        var action = sigaction()
        sigaction(SIGINT, nil, &action)
        if action.__sigaction_handler.sa_handler.map({ unsafeBitCast($0, to: Int.self) }) == 1 {
            source.activate()
            source.cancel()
        } else {
            await withCheckedContinuation { registered in
                source.setRegistrationHandler { registered.resume() }
                source.activate()
            }
        }
        return (interrupt, source)
    }

    private func receive() {
        let before = state.withLock { state in
            defer { if state == .starting { state = .interrupted } }
            return state
        }
        if before == .interrupted { _exit(128 + SIGINT) }
        if before == .starting { outcome.deliver(.success(())) }
    }

    /// The command has started. Does nothing if a signal came before.
    func end() { state.withLock { if $0 == .starting { $0 = .started } } }

    /// Returns once a signal has come before the start. Throws `cancelled`.
    func received() async throws(BLEError) { try await outcome.wait() }
}
