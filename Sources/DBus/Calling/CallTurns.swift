/// Sends the calls of one connection when it is their turn.
///
/// Safe to share because it is used on the loop's thread only.
final class CallTurns: @unchecked Sendable {
    typealias Ticket = CallGate.Ticket

    private var gate = CallGate()
    private var sends: [Ticket: () -> Void] = [:]

    /// Calls `send` when it is the call's turn, which may be at once. Every call that was sent is to be ``answered(_:)``.
    func enter(_ pace: CallPace, object: String, send: @escaping (Ticket) -> Void) -> Ticket {
        let ticket = gate.join(pace, object: object)
        sends[ticket] = { send(ticket) }
        sendNext()
        return ticket
    }

    /// Nobody waits for the call any longer.
    func leave(_ ticket: Ticket) {
        sends[ticket] = nil
        gate.leave(ticket)
    }

    /// The call's place is free.
    func answered(_ ticket: Ticket) {
        gate.answered(ticket)
        sendNext()
    }

    /// Why a call has ended with its time.
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

/// The time that a call has, on the loop's thread. That of a call that takes long runs from when it is sent.
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
