import BLE
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Shows the progress of work that takes longer than a second, on standard error.
///
/// On a terminal, it rewrites one line; elsewhere, it writes one line.
///
/// Uses real time, even if ``CommandClock`` does not, because people wait in real time.
final class Progress: Sendable {
    static let isTerminal = isatty(STDERR_FILENO) != 0 && !Terminal.isDumb
    private let isShown = Mutex(false)
    private let isSilent: Bool

    /// - Parameter isSilent: whether nothing is shown.
    init(isSilent: Bool = false) { self.isSilent = isSilent }

    static func write(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// Runs `work`, and shows `what` with the elapsed seconds, or with the remaining seconds if there is a limit.
    func during<Value: Sendable>(
        _ what: String, limit: Duration? = nil, _ work: () async throws -> Value
    ) async rethrows -> Value {
        let what = what.harmless
        let ticker = Task {
            var seconds = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                seconds += 1
                self.show(what, seconds, limit)
            }
        }
        defer {
            ticker.cancel()
            clear()
        }
        return try await work()
    }

    private func show(_ what: String, _ seconds: Int, _ limit: Duration?) {
        if isSilent { return }
        guard Self.isTerminal else {
            if seconds == 1 { Self.write("\(what)…\n") }
            return
        }
        let time = limit.map { "\(max(0, Int($0.components.seconds) - seconds)) s left" } ?? "\(seconds) s"
        isShown.withLock { $0 = true }
        Self.write("\r\u{1B}[K\(what)… \(time)")
    }

    /// Shows a line on a terminal, in place of the one before. Elsewhere, shows nothing.
    func show(_ line: String) {
        guard Self.isTerminal, !isSilent else { return }
        isShown.withLock { $0 = true }
        Self.write("\r\u{1B}[K\(line)")
    }

    /// Erases the line, so that another one can be written.
    func clear() {
        let wasShown = isShown.withLock { isShown in
            defer { isShown = false }
            return isShown
        }
        if wasShown { Self.write("\r\u{1B}[K") }
    }
}
