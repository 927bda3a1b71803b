import BLE
import Dispatch
import Synchronization
internal import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Standard input, read on demand, so that the program that writes to it waits while nothing is read.
///
/// Only one task may read at a time. A task that is cancelled receives nil, and the next line is lost, unless
/// ``endReads()`` is called before that arrives.
final class StandardInput: Sendable {
    static let shared = StandardInput(STDIN_FILENO)

    private let descriptor: Int32

    /// - Parameter descriptor: the descriptor to read from.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    private struct State {
        /// The bytes that were read and not yet taken.
        var bytes: [UInt8] = []
        /// The number of bytes that are known to contain no line end.
        var searched = 0
        /// Whether the bytes up to the next line end are the rest of a line that was cut, and are dropped.
        var isInRest = false
        var isAtEnd = false
        /// The number of calls of ``endReads()``. Reads that began before the last one have ended.
        var turn = 0
    }

    private let state = Mutex(State())

    /// The length at which a line is cut, in bytes. Its rest is dropped.
    private static let longestLine = 1 << 20

    /// Whether bytes can be read without waiting, or were read and not yet taken.
    var hasMore: Bool { state.withLock { !$0.bytes.isEmpty || !$0.isAtEnd && waiting > 0 } }

    /// Returns the bytes that have arrived, at most `count` of them; nil at the end.
    ///
    /// - Parameter onTake: called at the moment when ``hasMore`` no longer counts the bytes. It must not use this
    ///   input.
    func next(atMost count: Int, onTake: @escaping @Sendable () -> Void = {}) async -> [UInt8]? {
        let turn = state.withLock(\.turn)
        return await onThread {
            while true {
                let taken: [UInt8] = self.state.withLock { state in
                    guard state.turn == turn else { return [] }
                    defer { state.bytes.removeFirst(min(count, state.bytes.count)) }
                    if !state.bytes.isEmpty { onTake() }
                    return Array(state.bytes.prefix(count))
                }
                if !taken.isEmpty { return taken }
                guard self.read(atMost: count, turn) else { return nil }
            }
        }
    }

    /// Returns the next line; nil at the end.
    ///
    /// - Parameter onTake: as with ``next(atMost:onTake:)``.
    func nextLine(onTake: @escaping @Sendable () -> Void = {}) async -> String? {
        let turn = state.withLock(\.turn)
        @Sendable func take(_ line: (inout State) -> String?) -> String? {
            state.withLock { state in
                let line = state.turn == turn ? line(&state) : nil
                if line != nil { onTake() }
                return line
            }
        }
        return await onThread {
            while true {
                if let line = take(Self.takeLine) { return line }
                guard self.read(atMost: 65_536, turn) else { return take(Self.takeRest) }
            }
        }
    }

    /// Drops the input that was typed so far.
    ///
    /// - Parameter whatArrived: whether to also drop input that is not typed on a terminal: the bytes that have arrived
    ///   when this is called, even if the program that writes the input continues to write. No other task may be
    ///   reading then.
    func drop(whatArrived: Bool) {
        let isTerminal = isatty(descriptor) != 0
        guard isTerminal || whatArrived else { return }
        forget()
        guard !isTerminal else {
            tcflush(descriptor, TCIFLUSH)
            return
        }
        var left = waiting
        let turn = state.withLock(\.turn)
        while left > 0, waiting > 0, read(atMost: min(left, 65_536), turn) { left -= forget() }
    }

    /// Ends the reads that have not returned, which take nothing any more. An end of the input that was typed on a
    /// terminal no longer counts.
    func endReads() {
        let isTerminal = isatty(descriptor) != 0
        state.withLock { state in
            state.turn += 1
            if isTerminal { state.isAtEnd = false }
        }
    }

    /// Drops the bytes that were read. Returns their number.
    @discardableResult
    private func forget() -> Int {
        state.withLock { state in
            defer { (state.bytes, state.searched, state.isInRest) = ([], 0, false) }
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

    /// Waits for bytes or the end, for the given number of milliseconds; -1 means no limit.
    private func isReady(within milliseconds: Int32) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, milliseconds) > 0
    }

    /// Waits for bytes. Returns false at the end, and if the reads of this turn have ended.
    ///
    /// The bytes move from the system to the state under the state's lock, so that ``hasMore`` sees them in one of the
    /// two.
    private func read(atMost count: Int, _ turn: Int) -> Bool {
        var bytes = [UInt8](repeating: 0, count: count)
        // An end of input that was typed on a terminal is reported once.
        while !state.withLock({ $0.isAtEnd || $0.turn != turn }) {
            _ = isReady(within: -1)
            let hasRead: Bool? = state.withLock { state in
                guard !state.isAtEnd, state.turn == turn else { return false }
                // Another task may have read the bytes.
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
        if state.isInRest {
            guard let end = state.bytes.firstIndex(of: 0x0A) else {
                state.bytes = []
                return nil
            }
            state.bytes.removeFirst(end + 1)
            state.isInRest = false
        }
        guard let end = state.bytes[state.searched...].firstIndex(of: 0x0A) else {
            state.searched = state.bytes.count
            guard state.searched >= longestLine else { return nil }
            state.isInRest = true
            defer { (state.bytes, state.searched) = ([], 0) }
            return String(decoding: state.bytes, as: UTF8.self)
        }
        defer {
            state.bytes.removeFirst(end + 1)
            state.searched = 0
        }
        let line = state.bytes[..<end]
        return String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
    }

    /// Takes the last line, which no line end follows.
    private static func takeRest(_ state: inout State) -> String? {
        defer { (state.bytes, state.searched) = ([], 0) }
        return state.bytes.isEmpty ? nil : String(decoding: state.bytes, as: UTF8.self)
    }

    /// Reads on a thread of its own, because reading blocks. The thread ends with the input or the process.
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
