internal import Loop
internal import Waiting

/// The pending calls of a connection. Each is sent in its turn, and its answer is read in order with the signals.
///
/// Safe to share because it is used only on the loop's thread.
final class PendingCalls: @unchecked Sendable {
    /// An answer to a call.
    typealias Answer = (message: IncomingMessage, descriptors: [FileDescriptor])

    private let loop: EventLoop
    private var gate = CallGate()
    /// The calls that have no answer yet.
    private var calls: [CallGate.Ticket: PendingCall] = [:]
    /// The calls that were sent, by serial number.
    private var sent: [UInt32: PendingCall] = [:]
    /// The number of calls with a completion.
    private var awaitedCount = 0

    init(_ loop: EventLoop) { self.loop = loop }

    /// Whether no caller waits for an answer or a turn.
    var isEmpty: Bool { awaitedCount == 0 }

    /// Leaves room for the calls of others on the same connection.
    func share() { gate.share() }

    /// Makes a call over an open connection, as soon as it is the call's turn.
    ///
    /// `completion` is called once on the loop's thread, with the answer in order with the signals, or with the error.
    /// It may be called before this returns, and is not called after ``abandon(_:)`` or a successful ``withdraw(_:)``.
    /// The answer is valid during the call.
    ///
    /// - Parameter atTurn: called when it is the call's turn. If it returns true, nothing is sent, and `completion` is
    ///   not called.
    func start(
        _ call: MethodCall, over connection: BusConnection, timeout: Duration, atTurn: (() -> Bool)? = nil,
        completion: @escaping (Result<Answer, DBusError>) -> Void
    ) throws(DBusError) -> PendingCall {
        loop.checkIsolated()
        guard connection.isOpen else { throw BusConnection.closed }
        let serial = connection.output.nextSerial()
        let bytes = try OutgoingMessage.call(call, serial: serial)
        let entry = gate.enter(call.pace, object: call.object ?? call.path)
        let pending = PendingCall(call, bytes, serial, entry.ticket, timeout, atTurn, completion)
        calls[entry.ticket] = pending
        awaitedCount += 1
        if call.pace != .long { startTimer(pending) }
        connection.endPause()
        if entry.hasTurn { send(pending, over: connection) }
        sendNext(over: connection)
        return pending
    }

    /// Makes a call over an open connection and returns the result of `read`, which reads the answer on the loop's
    /// thread, in order with the signals.
    ///
    /// - Parameter onTurn: called when it is the call's turn. What it returns is the result, and nothing is sent.
    func make<Value: Sendable>(
        _ call: MethodCall, over connection: BusConnection, timeout: Duration,
        onTurn: (@Sendable () -> Value?)? = nil,
        read: @escaping @Sendable (IncomingMessage, [FileDescriptor]) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        if Task.isCancelled { throw .cancelled }
        let outcome = BusOutcome<Value>()
        let atTurn = onTurn.map { onTurn in
            { onTurn().map { outcome.deliver(.success($0)) } != nil }
        }
        let pending = try start(call, over: connection, timeout: timeout, atTurn: atTurn) { answer in
            outcome.deliver(answer.reading(read))
        }
        // The answer is no longer needed, however the wait has ended. This runs on the loop's thread again.
        defer { abandon(pending) }
        return try await outcome.wait()
    }

    /// Ends the wait for an answer. A call that was sent keeps its place until it is answered.
    func abandon(_ call: PendingCall) {
        guard call.completion != nil else { return }
        end(call)
    }

    /// Ends a call that was not sent yet. Returns false if the call was sent: then its completion is still called.
    func withdraw(_ call: PendingCall) -> Bool {
        guard !call.hasBeenSent, calls[call.ticket] === call else { return false }
        end(call)
        return true
    }

    /// Returns the calls that were sent and may still be answered, whether or not anybody waits for it.
    func unanswered(where matches: (PendingCall) -> Bool) -> [PendingCall] {
        sent.values.filter { !$0.isLost && matches($0) }
    }

    /// Fails calls that will never be answered. They no longer delay other calls for their objects, but the bus counts
    /// them until the connection is closed.
    func lose(_ lost: [PendingCall], _ error: DBusError, over connection: BusConnection) {
        for call in lost where !call.isLost && sent[call.serial] === call {
            call.isLost = true
            gate.lose(call.ticket)
        }
        for call in lost where call.isLost { complete(call, .failure(error)) }
        sendNext(over: connection)
    }

    /// The number of calls that will never be answered.
    var lostCount: Int { gate.lostCount }

    /// Passes an answer or an error to its caller. Returns whether a caller has received it.
    ///
    /// - Parameter service: the only service that is called; its answers come from its owner. Nil accepts any sender.
    func answered(
        _ message: IncomingMessage, _ descriptors: [FileDescriptor], by service: NameOwner?,
        over connection: BusConnection
    ) -> Bool {
        guard let call = call(for: message, service) else { return false }
        connection.answered(call.serial)
        calls[call.ticket] = nil
        call.isLost = false
        gate.answered(call.ticket)
        let isTaken = call.completion != nil
        if message.kind == .error {
            var body = message.body
            complete(call, .failure(.remote(message.errorName.string, (try? body.string()) ?? "")))
        } else {
            complete(call, .success((message, descriptors)))
        }
        sendNext(over: connection)
        return isTaken
    }

    /// Returns and removes the call that an answer belongs to, if the answer comes from the destination of the call.
    /// The bus may refuse any call.
    private func call(for message: IncomingMessage, _ service: NameOwner?) -> PendingCall? {
        guard let index = sent.index(forKey: message.replySerial) else { return nil }
        let call = sent.values[index]
        if let service {
            let isBus = message.sender == NameOwner.bus
            let isGenuine =
                isBus
                ? call.destination == NameOwner.bus || message.kind == .error
                : call.destination == service.name && service.isGenuine(message.sender, asked: call.owner)
            guard isGenuine else { return nil }
        }
        sent.remove(at: index)
        return call
    }

    /// Fails all calls. Those that were sent are lost.
    func close(_ error: DBusError) {
        for call in sent.values { call.isLost = true }
        let calls = self.calls.values
        (self.calls, sent) = ([:], [:])
        for call in calls { complete(call, .failure(error)) }
    }

    // MARK: Turns

    private func sendNext(over connection: BusConnection) {
        while let ticket = gate.next() {
            guard let call = calls[ticket] else {
                gate.answered(ticket)
                continue
            }
            send(call, over: connection)
        }
    }

    private func send(_ call: PendingCall, over connection: BusConnection) {
        call.hasBeenSent = true
        if call.timer == nil { startTimer(call) }
        if call.atTurn?() == true {
            end(call)
            forget(call)
        } else {
            call.owner = connection.owner
            sent[call.serial] = call
            guard !connection.output.send(call.bytes, call.descriptors) else {
                call.bytes = []
                return
            }
            sent[call.serial] = nil
            forget(call)
            complete(call, .failure(BusConnection.closed))
        }
    }

    /// Removes a call that was not sent in its turn.
    private func forget(_ call: PendingCall) {
        calls[call.ticket] = nil
        gate.answered(call.ticket)
    }

    // MARK: Ends

    private func startTimer(_ call: PendingCall) {
        call.timer = loop.schedule(after: call.timeout) { [self] in complete(call, .failure(lateness(of: call))) }
    }

    private func lateness(of call: PendingCall) -> DBusError {
        DBusError(
            .timedOut,
            message: call.hasBeenSent
                ? "no answer to \(call.method) within \(call.timeout)"
                : "\(call.method) was not sent within \(call.timeout): \(gate.sentCount) calls wait for their answers")
    }

    private func complete(_ call: PendingCall, _ result: Result<Answer, DBusError>) {
        guard let completion = call.completion else { return }
        end(call)
        completion(result)
    }

    /// Ends the wait for a call's result.
    private func end(_ call: PendingCall) {
        awaitedCount -= 1
        (call.completion, call.atTurn, call.timer) = (nil, nil, nil)
        guard !call.hasBeenSent else { return }
        gate.leave(call.ticket)
        calls[call.ticket] = nil
    }
}

extension Result where Success == PendingCalls.Answer, Failure == DBusError {
    /// Returns the result of `read` for the answer.
    func reading<Value>(
        _ read: (IncomingMessage, [FileDescriptor]) throws(DBusError) -> Value
    ) -> Result<Value, DBusError> {
        do throws(DBusError) {
            let answer = try get()
            return .success(try read(answer.message, answer.descriptors))
        } catch {
            return .failure(error)
        }
    }
}
