import BLE
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Decides what a SIGINT ends: the command or the line of a shell, or the shell itself while it starts and ends.
struct ShellInterruptState {
    enum Action: Equatable {
        /// The signal is for the shell, as for any other command of `ble`.
        case leave
        /// The signal is kept for what follows, or has no effect.
        case none
        /// The current work is cancelled.
        case cancel
        /// The process ends.
        case exit
    }

    /// What a shell does between its start and its end.
    enum Work {
        /// Reading a line. Only the first signal counts.
        case line
        /// Performing a command. A second signal ends the process.
        case command
    }

    private enum Stage {
        /// The shell starts or ends.
        case outside
        /// Nothing that takes time. A signal here is for the command that follows.
        case between(isInterrupted: Bool)
        case during(Work, isInterrupted: Bool)
    }

    private var stage = Stage.outside

    /// Records that the shell has started.
    mutating func open() { stage = .between(isInterrupted: false) }

    /// Records that the shell is about to end.
    mutating func close() { stage = .outside }

    mutating func receive() -> Action {
        switch stage {
        case .outside: return .leave
        case .between:
            stage = .between(isInterrupted: true)
            return .none
        case .during(let work, isInterrupted: false):
            stage = .during(work, isInterrupted: true)
            return .cancel
        case .during(.line, isInterrupted: true): return .none
        case .during(.command, isInterrupted: true): return .exit
        }
    }

    /// Records that work begins. Returns whether a signal has already interrupted it.
    mutating func begin(_ work: Work) -> Bool {
        guard case .between(let isInterrupted) = stage else { return false }
        // A signal that came before the prompt was for what was on the screen then.
        let isAffected = isInterrupted && work == .command
        stage = .during(work, isInterrupted: isAffected)
        return isAffected
    }

    /// Records that the work has ended. Returns whether a signal has interrupted it.
    mutating func end() -> Bool {
        guard case .during(_, let isInterrupted) = stage else { return false }
        stage = .between(isInterrupted: false)
        return isInterrupted
    }
}

/// The SIGINTs of a shell on a terminal, from its start to its end.
final class ShellInterrupts: Sendable {
    private struct State {
        var interrupts = ShellInterruptState()
        var cancel: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Handles a SIGINT. Returns false if it is for the shell itself.
    func handle() -> Bool {
        let (action, cancel) = state.withLock { ($0.interrupts.receive(), $0.cancel) }
        switch action {
        case .leave: return false
        case .none: break
        case .cancel: cancel?()
        case .exit: _exit(128 + SIGINT)
        }
        return true
    }

    func open() { state.withLock { $0.interrupts.open() } }

    func close() { state.withLock { $0.interrupts.close() } }

    /// Does the work, which a SIGINT cancels. Returns its result, and whether it was interrupted.
    func during<Value: Sendable>(
        _ work: ShellInterruptState.Work, _ body: @escaping @Sendable () async throws -> Value
    ) async -> (result: Result<Value, any Error>, isInterrupted: Bool) {
        let (task, isInterrupted) = state.withLock { state in
            // Before the task starts, so that a signal during the work is for it.
            let isInterrupted = state.interrupts.begin(work)
            let task = Task { try await body() }
            state.cancel = { task.cancel() }
            return (task, isInterrupted)
        }
        if isInterrupted { task.cancel() }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        return state.withLock { state in
            state.cancel = nil
            return (result, state.interrupts.end())
        }
    }
}
