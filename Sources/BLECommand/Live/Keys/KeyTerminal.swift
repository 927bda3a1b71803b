import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The terminal of standard input, which delivers each key as it is pressed and does not show it.
///
/// Ctrl-C still sends SIGINT. The terminal belongs to this process only in the foreground: a shell may take it at any
/// time, and leaves it in its own state. Call ``enter()`` again and again.
final class KeyTerminal: Sendable {
    enum Entry {
        /// The terminal has just begun to deliver keys. Another program may have written to it before.
        case began
        case goesOn
        /// Another program has the terminal, or this has ended.
        case isElsewhere
    }

    private struct State {
        /// The attributes for other programs. Nil while the terminal does not deliver keys.
        var before: termios?
        /// Whether the terminal marks pasted text.
        var marksPaste = false
        var isOver = false
    }

    private let state = Mutex(State())

    /// Nil if standard input is not a terminal.
    init?() {
        guard isatty(STDIN_FILENO) != 0 else { return nil }
    }

    /// Whether this process is in the foreground. In the background, a change of the terminal would stop it.
    private static var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Makes the terminal deliver keys, unless it already does.
    func enter() -> Entry {
        let entry = state.withLock { state -> Entry in
            var now = termios()
            guard !state.isOver, Self.isInForeground, tcgetattr(STDIN_FILENO, &now) == 0 else { return .isElsewhere }
            let delivers = now.c_lflag & tcflag_t(ICANON | ECHO) == 0
            guard state.before == nil || !delivers else { return .goesOn }
            state.before = now
            state.marksPaste = false
            now.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
            withUnsafeMutableBytes(of: &now.c_cc) { characters in
                characters[Int(VMIN)] = 1
                characters[Int(VTIME)] = 0
                // 0 is no character. Ctrl-Z is a key, because the terminal has to be restored before the process stops;
                // Ctrl-\ would end the process before that.
                characters[Int(VSUSP)] = 0
                characters[Int(VQUIT)] = 0
            }
            tcsetattr(STDIN_FILENO, TCSANOW, &now)
            return .began
        }
        if entry != .isElsewhere { updateMarks() }
        return entry
    }

    /// Restores the terminal, for good. Can be called from any thread.
    func end() {
        state.withLock { state in
            state.isOver = true
            Self.restore(&state)
        }
        updateMarks()
    }

    /// Restores the terminal, and stops the process and the others of its job, as Ctrl-Z does. Returns when they
    /// continue.
    func suspend() {
        state.withLock { Self.restore(&$0) }
        updateMarks()
        guard !state.withLock(\.isOver) else { return }
        kill(0, SIGTSTP)
        // The signal may reach another thread first, which then stops this one, too.
        poll(nil, 0, 100)
    }

    private static func restore(_ state: inout State) {
        guard var before = state.before else { return }
        state.before = nil
        if isInForeground { tcsetattr(STDIN_FILENO, TCSANOW, &before) }
    }

    /// Makes the terminal mark pasted text (bracketed paste mode) while it delivers keys. The text would be a series of
    /// keys otherwise. When it ends, the terminal wraps lines again, in case a drawing was cut before it said so.
    ///
    /// Does not wait for output, which the user may have stopped with Ctrl-S. The next call tries again.
    private func updateMarks() {
        while true {
            let (marks, isCurrent) = state.withLock { ($0.before != nil, $0.marksPaste == ($0.before != nil)) }
            var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
            guard !isCurrent, Self.isInForeground, poll(&output, 1, 0) > 0 else { return }
            let text = Array((marks ? "\u{1B}[?2004h" : "\u{1B}[?2004l" + TerminalArea.wrapping).utf8)
            // Outside the lock: another thread can restore the terminal meanwhile.
            guard text.withUnsafeBytes({ write(STDOUT_FILENO, $0.baseAddress, $0.count) }) == text.count else { return }
            state.withLock { $0.marksPaste = marks }
        }
    }
}
