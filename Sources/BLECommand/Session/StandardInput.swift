import BLE
import Dispatch
import Synchronization
internal import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard input, read on demand, so that the program that writes it waits while nothing is read.
///
/// One task reads at a time. A task that is cancelled gets nil, and the next line is lost.
final class StandardInput: Sendable {
    static let shared = StandardInput()

    private struct State {
        /// What was read and not yet taken.
        var bytes: [UInt8] = []
        /// How many of them are known to be without a line's end.
        var searched = 0
        var isAtEnd = false
    }

    private let state = Mutex(State())

    /// The length at which a line is cut.
    private static let longestLine = 1 << 20

    /// Whether something can be read without waiting.
    var hasMore: Bool {
        let (isEmpty, isAtEnd) = state.withLock { ($0.bytes.isEmpty, $0.isAtEnd) }
        return !isEmpty || !isAtEnd && isReady
    }

    /// Returns what has arrived, up to a number of bytes; nil at the end.
    func next(atMost count: Int) async -> [UInt8]? {
        await onThread {
            while true {
                let taken = self.state.withLock { state in
                    defer { state.bytes.removeFirst(min(count, state.bytes.count)) }
                    return Array(state.bytes.prefix(count))
                }
                if !taken.isEmpty { return taken }
                guard self.read(atMost: count) else { return nil }
            }
        }
    }

    /// Returns the next line; nil at the end.
    func nextLine() async -> String? {
        await onThread {
            while true {
                if let line = self.state.withLock({ Self.takeLine(&$0) }) { return line }
                guard self.read(atMost: 65_536) else { return self.state.withLock({ Self.takeRest(&$0) }) }
            }
        }
    }

    /// Drops what was typed so far.
    ///
    /// - Parameter whatArrived: whether to drop what is not typed on a terminal, too. Nothing else may be reading then.
    func drop(whatArrived: Bool) {
        let isTerminal = isatty(STDIN_FILENO) != 0
        guard isTerminal || whatArrived else { return }
        let forget = { self.state.withLock { ($0.bytes, $0.searched) = ([], 0) } }
        forget()
        if isTerminal {
            tcflush(STDIN_FILENO, TCIFLUSH)
        } else {
            while isReady, read(atMost: 65_536) { forget() }
        }
    }

    // MARK: Reading

    private var isReady: Bool {
        var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, 0) > 0, state.revents & Int16(POLLIN) != 0 else { return false }
        // The end of a file or a pipe is reported, too.
        var waiting: Int32 = 0
        return ioctl(STDIN_FILENO, UInt(FIONREAD), &waiting) == 0 && waiting > 0
    }

    /// Waits for bytes. Returns false at the end.
    private func read(atMost count: Int) -> Bool {
        guard !state.withLock({ $0.isAtEnd }) else { return false }
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let length = systemRead(&bytes, count)
            if length < 0, errno == EINTR { continue }
            return state.withLock { state in
                guard length > 0 else {
                    state.isAtEnd = true
                    return false
                }
                state.bytes += bytes[..<length]
                return true
            }
        }
    }

    private static func takeLine(_ state: inout State) -> String? {
        guard let end = state.bytes[state.searched...].firstIndex(of: 0x0A) else {
            state.searched = state.bytes.count
            return state.searched < longestLine ? nil : takeRest(&state)
        }
        defer {
            state.bytes.removeFirst(end + 1)
            state.searched = 0
        }
        let line = state.bytes[..<end]
        return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }

    private static func takeRest(_ state: inout State) -> String? {
        defer { (state.bytes, state.searched) = ([], 0) }
        return state.bytes.isEmpty ? nil : String(decoding: state.bytes, as: UTF8.self)
    }

    /// Reads on a thread of its own, because reading blocks. It ends with the input or the process.
    private func onThread<Value: Sendable>(_ read: @escaping @Sendable () -> Value?) async -> Value? {
        let outcome = Outcome<Value?>()
        DispatchQueue.global().async { outcome.deliver(.success(read())) }
        return try? await outcome.wait()
    }
}

/// The system's `read`, which the method of the same name hides.
private func systemRead(_ bytes: inout [UInt8], _ count: Int) -> Int { read(STDIN_FILENO, &bytes, count) }
