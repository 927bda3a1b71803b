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
    static let shared = StandardInput(STDIN_FILENO)

    private let descriptor: Int32

    /// - Parameter descriptor: of what is read.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

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

    /// Whether something can be read without waiting, or was read and not yet taken.
    var hasMore: Bool { state.withLock { !$0.bytes.isEmpty || !$0.isAtEnd && waiting > 0 } }

    /// Returns what has arrived, up to a number of bytes; nil at the end.
    ///
    /// - Parameter onTake: called at the moment at which ``hasMore`` no longer counts the bytes. It must not use this
    ///   input.
    func next(atMost count: Int, onTake: @escaping @Sendable () -> Void = {}) async -> [UInt8]? {
        await onThread {
            while true {
                let taken = self.state.withLock { state in
                    defer { state.bytes.removeFirst(min(count, state.bytes.count)) }
                    if !state.bytes.isEmpty { onTake() }
                    return Array(state.bytes.prefix(count))
                }
                if !taken.isEmpty { return taken }
                guard self.read(atMost: count) else { return nil }
            }
        }
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Parameter onTake: as with ``next(atMost:onTake:)``.
    func nextLine(onTake: @escaping @Sendable () -> Void = {}) async -> String? {
        @Sendable func take(_ line: (inout State) -> String?) -> String? {
            state.withLock { state in
                let line = line(&state)
                if line != nil { onTake() }
                return line
            }
        }
        return await onThread {
            while true {
                if let line = take(Self.takeLine) { return line }
                guard self.read(atMost: 65_536) else { return take(Self.takeRest) }
            }
        }
    }

    /// Drops what was typed so far.
    ///
    /// - Parameter whatArrived: whether to drop what is not typed on a terminal, too: what has arrived when this is
    ///   called, however much the program that writes the input writes meanwhile. Nothing else may be reading then.
    func drop(whatArrived: Bool) {
        let isTerminal = isatty(descriptor) != 0
        guard isTerminal || whatArrived else { return }
        forget()
        guard !isTerminal else {
            tcflush(descriptor, TCIFLUSH)
            return
        }
        var left = waiting
        while left > 0, waiting > 0, read(atMost: min(left, 65_536)) { left -= forget() }
    }

    /// Drops what was read. Returns the number of bytes.
    @discardableResult
    private func forget() -> Int {
        state.withLock { state in
            defer { (state.bytes, state.searched) = ([], 0) }
            return state.bytes.count
        }
    }

    // MARK: Reading

    /// The number of bytes that can be read without waiting.
    private var waiting: Int {
        var count: Int32 = 0
        guard ioctl(descriptor, UInt(FIONREAD), &count) == 0 else { return 0 }
        return Int(count)
    }

    /// Waits for bytes, or the end, for so many milliseconds; -1 is without limit.
    private func isReady(within milliseconds: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, milliseconds) > 0
    }

    /// Waits for bytes. Returns false at the end.
    ///
    /// They move from the system to the state under its lock, so that ``hasMore`` sees them in one of the two.
    private func read(atMost count: Int) -> Bool {
        var bytes = [UInt8](repeating: 0, count: count)
        // The end that was typed on a terminal is reported once.
        while !state.withLock({ $0.isAtEnd }) {
            _ = isReady(within: -1)
            let hasRead: Bool? = state.withLock { state in
                guard !state.isAtEnd else { return false }
                // Another task may have read them.
                guard isReady(within: 0) else { return nil }
                let length = systemRead(descriptor, &bytes, count)
                if length < 0, errno == EINTR || errno == EAGAIN { return nil }
                guard length > 0 else {
                    state.isAtEnd = true
                    return false
                }
                state.bytes += bytes[..<length]
                return true
            }
            if let hasRead { return hasRead }
        }
        return false
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
private func systemRead(_ descriptor: Int32, _ bytes: inout [UInt8], _ count: Int) -> Int {
    read(descriptor, &bytes, count)
}
