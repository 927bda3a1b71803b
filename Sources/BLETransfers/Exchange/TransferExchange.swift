internal import BLE
internal import Waiting

/// One transfer over a link: performs what the sender or the receiver decides, and hands it what arrives.
struct TransferExchange: Sendable {
    /// How it has ended.
    enum End: Sendable {
        case finished
        /// The other side has ended it.
        case refused(TransferRefusal)
        /// This side has ended it, and has told the other side.
        case failed(TransferRefusal, cause: (any Error)? = nil)
        /// The other side has begun anew with a packet.
        case interrupted([UInt8])
    }

    let link: TransferLink
    /// The number of the transfer.
    let token: UInt16
    let timeouts: TransferTimeouts
    /// Whether an opening with another number ends this transfer. Otherwise, it is that of another central.
    var endsWithOthers = false
    /// Orders the work of the storage.
    let lease: TransferLease
    /// Receives the progress.
    let report: @Sendable (TransferProgress) -> Void

    /// The number of packets that are handled before this side acts.
    private static let batch = 256

    func send(_ message: TransferMessage) async throws(BLEError) {
        try await link.send(TransferPacket(token, message).bytes)
    }

    /// Passes the messages that have arrived to `handle`, and nil for one that is not valid. Returns a packet that
    /// begins anew.
    func poll(_ handle: (TransferMessage?) -> Void) throws(BLEError) -> [UInt8]? {
        if Task.isCancelled { throw .cancelled }
        for _ in 0..<Self.batch {
            guard let packet = link.inbox.poll() else { return nil }
            if take(packet, handle) { return packet }
        }
        return nil
    }

    /// Waits for a message. Calls `expire` if there is no progress in time.
    func wait(
        _ timer: inout ProgressTimer, _ timeout: Duration, _ handle: (TransferMessage?) -> Void, expire: () -> Void
    ) async throws(BLEError) -> [UInt8]? {
        let remaining = timer.remaining(of: timeout)
        guard remaining > .zero else {
            timer.restart()
            expire()
            return nil
        }
        guard let packet = try await link.inbox.next(within: remaining, clock: link.clock) else { return nil }
        return take(packet, handle) ? packet : nil
    }

    /// Returns whether a packet begins anew. Packets of other transfers are ignored.
    private func take(_ bytes: [UInt8], _ handle: (TransferMessage?) -> Void) -> Bool {
        let packet: TransferPacket
        do throws(TransferPacket.Mistake) {
            packet = try TransferPacket(decoding: bytes)
        } catch {
            if error == .tooShort(token: token) { handle(nil) }
            return false
        }
        if case .open = packet.message { return endsWithOthers || packet.token == token }
        if packet.token == token { handle(packet.message) }
        return false
    }

    /// Returns the result of work of a storage or a source, which the end of the link or of the task does not cancel.
    func perform<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws(BLEError) -> Result<Value, any Error> {
        let outcome = Outcome<Result<Value, any Error>>()
        lease.perform {
            let result: Result<Value, any Error>
            do {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            outcome.deliver(.success(result))
        }
        return try await link.inbox.wait(for: outcome)
    }

    /// Ends the transfer from this side.
    func fail(_ refusal: TransferRefusal, _ cause: (any Error)? = nil) async -> End {
        await link.sendLast(TransferPacket(token, .stop(refusal)))
        return .failed(refusal, cause: cause)
    }

    /// Ends the transfer because a storage or a source has refused.
    func fail(_ error: any Error) async -> End {
        await fail(error as? TransferRefusal ?? .storageFailed, error)
    }
}

/// How long a transfer waits.
struct TransferTimeouts: Hashable, Sendable {
    /// The maximum wait for the answer to an opening.
    var opening: Duration
    /// The maximum wait for progress, after which the other side is asked.
    var progress: Duration
}

/// Measures the time since the last progress, without that of excluded work.
struct ProgressTimer {
    private let clock: any Clock<Duration>
    private var progress = 0
    private var stopwatch: Stopwatch
    private var excluded = Duration.zero

    init(_ clock: any Clock<Duration>) {
        self.clock = clock
        stopwatch = Stopwatch(clock)
    }

    mutating func update(_ progress: Int) {
        guard progress != self.progress else { return }
        self.progress = progress
        restart()
    }

    mutating func restart() { (stopwatch, excluded) = (Stopwatch(clock), .zero) }

    /// Excludes the duration of work of this side, such as that of a storage.
    mutating func exclude(_ duration: Duration) { excluded += duration }

    func remaining(of timeout: Duration) -> Duration { timeout + excluded - stopwatch.elapsed }
}

/// Measures the time since its creation on any clock.
struct Stopwatch: Sendable {
    private let read: @Sendable () -> Duration

    init(_ clock: any Clock<Duration>) { read = Self.reading(clock) }

    private static func reading<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// The time that has passed.
    var elapsed: Duration { read() }
}
