internal import Synchronization
internal import Waiting

/// The displays of one pairing. Each display replaces the one before it.
///
/// A display that still waits when another follows, or when the pairing ends, is never shown.
final class DisplayQueue: Sendable {
    private struct Display {
        let show: @Sendable () async -> Void
        let begun = Outcome<Void>()
    }

    private struct State {
        var isOver = false
        /// A task is taking the waiting displays.
        var isTaken = false
        /// A display has been taken, but its closure has not been called yet.
        var isBeginning = false
        var hasBegun = false
        var current: Task<Void, Never>?
        var waiting: Display?
    }

    private let state = Mutex(State())
    /// Delivered when the pairing has ended and nothing will be shown any more.
    let ended = Outcome<Void>()

    /// Replaces the current display. Returns when the new one has begun to be shown, or never will be.
    func next(_ show: @escaping @Sendable () async -> Void) async {
        let display = Display(show: show)
        let (isFirst, superseded) = state.withLock { state in
            guard !state.isOver else { return (false, display as Display?) }
            let superseded = state.waiting
            state.waiting = display
            state.current?.cancel()
            let isFirst = !state.isTaken
            state.isTaken = true
            return (isFirst, superseded)
        }
        superseded?.begun.deliver(.success(()))
        if isFirst { Task { @concurrent in await showAll() } }
        try? await display.begun.wait()
    }

    func end() {
        let (dropped, isEnded) = state.withLock { state in
            state.isOver = true
            state.current?.cancel()
            let dropped = state.hasBegun ? state.waiting : nil
            if state.hasBegun { state.waiting = nil }
            return (dropped, !state.isBeginning && state.waiting == nil)
        }
        dropped?.begun.deliver(.success(()))
        if isEnded { ended.deliver(.success(())) }
    }

    private func showAll() async {
        while let display = take() {
            // Called immediately, so that a later prompt cannot overtake it.
            let task = Task.immediate { await display.show() }
            let isOver = state.withLock { state in
                state.isBeginning = false
                state.current = task
                if state.isOver || state.waiting != nil { task.cancel() }
                return state.isOver
            }
            display.begun.deliver(.success(()))
            if isOver { ended.deliver(.success(())) }
            await task.value
        }
    }

    private func take() -> Display? {
        state.withLock { state in
            state.current = nil
            guard let display = state.waiting else {
                state.isTaken = false
                return nil
            }
            state.waiting = nil
            state.isBeginning = true
            state.hasBegun = true
            return display
        }
    }
}
