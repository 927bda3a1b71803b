/// Sends the calls of one connection in turn.
///
/// Safe to share because it is used only on the loop's thread.
final class CallTurns: @unchecked Sendable {
    typealias Ticket = CallGate.Ticket

    private var gate = CallGate()
    private var sends: [Ticket: () -> Void] = [:]

    /// Calls `send` when it is the call's turn, possibly immediately. Every call that was sent must be passed to
    /// ``answered(_:)``.
    func enter(_ pace: CallPace, object: String, send: @escaping (Ticket) -> Void) -> Ticket {
        let ticket = gate.join(pace, object: object)
        sends[ticket] = { send(ticket) }
        sendNext()
        return ticket
    }

    /// Removes a call whose caller no longer waits.
    func leave(_ ticket: Ticket) {
        sends[ticket] = nil
        gate.leave(ticket)
    }

    /// Frees the place of a call.
    func answered(_ ticket: Ticket) {
        gate.answered(ticket)
        sendNext()
    }

    /// Returns the error for a call whose time has expired.
    func lateness(_ method: String, _ timeout: Duration, hasBeenSent: Bool) -> DBusError {
        DBusError(
            .timedOut,
            message: hasBeenSent
                ? "no answer to \(method) within \(timeout)"
                : "\(method) was not sent within \(timeout): \(gate.sentCount) calls wait for their answers")
    }

    private func sendNext() {
        while let ticket = gate.next() { sends.removeValue(forKey: ticket)?() }
    }
}

/// The deadline of a call, on the loop's thread. The time of a long call starts when it is sent.
final class CallDeadline: @unchecked Sendable {
    private let loop: EventLoop
    private let duration: Duration
    private let expire: @Sendable () -> Void
    private var timer: LoopTimer?
    private(set) var hasBeenSent = false

    init(_ loop: EventLoop, _ duration: Duration, pace: CallPace, expire: @escaping @Sendable () -> Void) {
        (self.loop, self.duration, self.expire) = (loop, duration, expire)
        if pace != .long { start() }
    }

    private func start() { timer = loop.schedule(after: duration, expire) }

    func sent() {
        hasBeenSent = true
        if timer == nil { start() }
    }

    func cancel() { timer?.cancel() }
}
