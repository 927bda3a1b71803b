internal import Waiting

/// The calls of a connection, whose answers are read in order with the signals.
///
/// Safe to share because it is used only on the loop's thread.
final class PendingCalls: @unchecked Sendable {
    /// Reads the answer to a call on the loop's thread, in order with the signals around it.
    private struct Waiter {
        let destination: String
        /// The owner of the service's name when the call was sent.
        let owner: String?
        let ticket: CallTurns.Ticket
        /// Nil if the caller no longer waits.
        var answered: ((Result<(IncomingMessage, [FileDescriptor]), DBusError>) -> Void)?
    }

    private let loop: EventLoop
    private let turns = CallTurns()
    private var waiters: [UInt32: Waiter] = [:]
    /// Ends the waits of callers for answers or turns.
    private var asking: [CallTurns.Ticket: (DBusError) -> Void] = [:]

    init(_ loop: EventLoop) { self.loop = loop }

    /// Whether nobody waits for an answer or a turn.
    var isEmpty: Bool { asking.isEmpty }

    /// Makes a call over an open connection. `read` reads its answer on the loop's thread, in order with the signals.
    ///
    /// - Parameter onTurn: called when it is the call's turn. What it returns is the result, and nothing is sent.
    func make<Value: Sendable>(
        _ call: MethodCall, over connection: BusConnection, timeout: Duration,
        onTurn: (@Sendable () -> Value?)? = nil,
        read: @escaping @Sendable (IncomingMessage, [FileDescriptor]) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        loop.checkIsolated()
        guard connection.isOpen else { throw BusConnection.closed }
        if Task.isCancelled { throw .cancelled }
        let outcome = BusOutcome<Value>()
        let serial = connection.output.nextSerial()
        let message = try OutgoingMessage.call(call, serial: serial)
        let deadline = CallDeadline(loop, timeout, pace: call.pace) { [weak outcome] in outcome?.expire() }
        let ticket = turns.enter(call.pace, object: call.object ?? call.path) { [self] ticket in
            deadline.sent()
            if let value = onTurn?() {
                outcome.deliver(.success(value))
                return turns.answered(ticket)
            }
            let waiter = Waiter(destination: call.destination, owner: connection.owner, ticket: ticket) { answer in
                do throws(DBusError) {
                    let (message, descriptors) = try answer.get()
                    outcome.deliver(.success(try read(message, descriptors)))
                } catch {
                    outcome.deliver(.failure(error))
                }
            }
            guard connection.output.send(message, call.descriptors) else {
                outcome.deliver(.failure(BusConnection.closed))
                return turns.answered(ticket)
            }
            waiters[serial] = waiter
        }
        asking[ticket] = { outcome.deliver(.failure($0)) }
        connection.endPause()
        // However the wait has ended, the answer is no longer needed. This runs on the loop's thread again.
        defer {
            deadline.cancel()
            turns.leave(ticket)
            asking[ticket] = nil
            waiters[serial]?.answered = nil
        }
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            throw error.kind == .timedOut
                ? turns.lateness(call.method, timeout, hasBeenSent: deadline.hasBeenSent) : error
        }
    }

    /// Passes an answer or an error to its caller. Returns whether there is one.
    ///
    /// - Parameter service: the only service that is called; its answers come from its owner. Nil accepts any sender.
    func answered(_ message: IncomingMessage, _ descriptors: [FileDescriptor], by service: NameOwner?) -> Bool {
        guard let waiter = waiter(for: message, service) else { return false }
        if message.kind == .error {
            var body = message.body
            waiter.answered?(.failure(.remote(message.errorName.string, (try? body.string()) ?? "")))
        } else {
            waiter.answered?(.success((message, descriptors)))
        }
        turns.answered(waiter.ticket)
        return true
    }

    /// Returns and removes the waiter for an answer, if the answer comes from the destination of the call. The bus may
    /// refuse any call.
    private func waiter(for message: IncomingMessage, _ service: NameOwner?) -> Waiter? {
        let serial = message.replySerial
        guard let waiter = waiters[serial] else { return nil }
        if let service {
            let isBus = message.sender == NameOwner.bus
            let isGenuine =
                isBus
                ? waiter.destination == NameOwner.bus || message.kind == .error
                : waiter.destination == service.name && service.isGenuine(message.sender, asked: waiter.owner)
            guard isGenuine else { return nil }
        }
        waiters[serial] = nil
        return waiter
    }

    /// Fails all calls.
    func close(_ error: DBusError) {
        waiters = [:]
        for end in asking.values { end(error) }
    }
}
