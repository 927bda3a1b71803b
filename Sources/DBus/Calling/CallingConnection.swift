internal import CGLib
internal import Waiting

/// The GDBus half of a bus session: calls, file descriptors and served objects.
///
/// Safe to share because everything except cancellation happens on the loop's thread, to whose context GDBus delivers.
final class CallingConnection: @unchecked Sendable {
    let loop: EventLoop
    let tasks: LoopTaskExecutor
    private let onLoss: @Sendable () -> Void
    private var connection: OpaquePointer?
    private var closedHandler: gulong = 0
    private let turns = CallTurns()
    /// The outcomes of the calls that wait for their answers or turns.
    private var waiting: [CallTurns.Ticket: BusOutcome<MethodReply>] = [:]

    init(loop: EventLoop, onLoss: @escaping @Sendable () -> Void) {
        self.loop = loop
        tasks = LoopTaskExecutor(loop)
        self.onLoss = onLoss
    }

    // MARK: Opening and closing

    /// The address of the system bus in D-Bus notation.
    static func systemBusAddress() throws(DBusError) -> String {
        var error: UnsafeMutablePointer<GError>?
        guard let address = g_dbus_address_get_for_bus_sync(G_BUS_TYPE_SYSTEM, nil, &error) else {
            throw DBusError(taking: error)
        }
        defer { g_free(address) }
        return String(cString: address)
    }

    func open(address: String, timeout: Duration) async throws(DBusError) {
        loop.checkIsolated()
        if Task.isCancelled { throw .cancelled }
        let outcome = BusOutcome<PendingConnection>()
        let cancellable = Cancellable()
        let timer = loop.schedule(after: timeout) {
            outcome.deliver(.failure(DBusError(.timedOut, message: "no answer from the bus within \(timeout)")))
        }
        defer { timer.cancel() }
        let flags =
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
            | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
        g_dbus_connection_new_for_address(
            address, GDBusConnectionFlags(rawValue: flags), nil, cancellable.pointer,
            { _, result, box in
                let outcome = Unmanaged<BusOutcome<PendingConnection>>.fromOpaque(box!).takeRetainedValue()
                var error: UnsafeMutablePointer<GError>?
                if let connection = g_dbus_connection_new_for_address_finish(result, &error) {
                    outcome.deliver(.success(PendingConnection(connection)))
                } else {
                    outcome.deliver(.failure(DBusError(taking: error)))
                }
            }, Unmanaged.passRetained(outcome).toOpaque())
        let opened: PendingConnection
        do throws(DBusError) {
            opened = try await outcome.wait()
        } catch {
            cancellable.cancel()
            throw error.kind == .disconnected
                ? DBusError(.unreachable, name: error.name, message: error.message) : error
        }
        adopt(opened.take()!)
    }

    private func adopt(_ connection: OpaquePointer) {
        self.connection = connection
        g_dbus_connection_set_exit_on_close(connection, 0)
        let handler: @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<GError>?, gpointer?) -> Void = {
            _, _, _, me in
            let me = Unmanaged<CallingConnection>.fromOpaque(me!).takeUnretainedValue()
            me.close()
            me.onLoss()
        }
        closedHandler = ble_signal_connect(
            UnsafeMutableRawPointer(connection), "closed", unsafeBitCast(handler, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Closes immediately. Pending calls fail with `.disconnected`. The loss handler is not called.
    func close() {
        loop.checkIsolated()
        guard let connection else { return }
        self.connection = nil
        g_signal_handler_disconnect(UnsafeMutableRawPointer(connection), closedHandler)
        g_dbus_connection_close(connection, nil, nil, nil)
        g_object_unref(UnsafeMutableRawPointer(connection))
        // Includes calls that were sent: GDBus completes them only while the loop is running.
        for outcome in waiting.values { outcome.deliver(.failure(Self.closed)) }
    }

    private static let closed = DBusError(.disconnected, message: "the connection to the bus is closed")

    func open() throws(DBusError) -> OpaquePointer {
        loop.checkIsolated()
        guard let connection else { throw Self.closed }
        return connection
    }

    var isOpen: Bool { connection != nil }

    var uniqueName: String? {
        connection.flatMap { g_dbus_connection_get_unique_name($0) }.map { String(cString: $0) }
    }

    // MARK: Calling

    /// A call that was sent.
    private final class PendingCall {
        let turns: CallTurns
        let ticket: CallTurns.Ticket
        let outcome: BusOutcome<MethodReply>

        init(_ turns: CallTurns, _ ticket: CallTurns.Ticket, _ outcome: BusOutcome<MethodReply>) {
            (self.turns, self.ticket, self.outcome) = (turns, ticket, outcome)
        }
    }

    func call(
        _ call: MethodCall, timeout: Duration
    ) async throws(DBusError) -> MethodReply {
        _ = try open()
        if Task.isCancelled { throw .cancelled }
        let outcome = BusOutcome<MethodReply>()
        let turns = turns
        let deadline = CallDeadline(loop, timeout, pace: call.pace) { [weak outcome] in outcome?.expire() }
        let ticket = turns.enter(call.pace, object: call.object ?? call.path) { [self] ticket in
            deadline.sent()
            if let reply = call.onTurn?() {
                outcome.deliver(.success(reply))
                return turns.answered(ticket)
            }
            send(call, PendingCall(turns, ticket, outcome))
        }
        // Only the wait ends here: a call that was sent keeps its place until it is answered.
        defer {
            deadline.cancel()
            turns.leave(ticket)
        }
        waiting[ticket] = outcome
        defer { waiting[ticket] = nil }
        do throws(DBusError) {
            return try await outcome.wait()
        } catch {
            throw error.kind == .timedOut
                ? turns.lateness(call.method, timeout, hasBeenSent: deadline.hasBeenSent) : error
        }
    }

    private func send(_ call: MethodCall, _ pending: PendingCall) {
        guard let connection else {
            pending.outcome.deliver(.failure(Self.closed))
            return turns.answered(pending.ticket)
        }
        let descriptors = Self.makeList(call.descriptors)
        defer { if let descriptors { g_object_unref(UnsafeMutableRawPointer(descriptors)) } }
        // Without a timeout or cancellation: GDBus would forget a call that the bus still counts.
        g_dbus_connection_call_with_unix_fd_list(
            connection, call.destination, call.path, call.interface, call.method,
            DBusValue.makeTuple(call.arguments), nil, G_DBUS_CALL_FLAGS_NO_AUTO_START, Int32.max, descriptors, nil,
            { connection, result, box in
                let pending = Unmanaged<PendingCall>.fromOpaque(box!).takeRetainedValue()
                pending.outcome.deliver(CallingConnection.finish(OpaquePointer(connection!), result))
                pending.turns.answered(pending.ticket)
            }, Unmanaged.passRetained(pending).toOpaque())
    }

    private static func finish(_ connection: OpaquePointer, _ result: OpaquePointer?) -> Result<MethodReply, DBusError>
    {
        var error: UnsafeMutablePointer<GError>?
        var list: UnsafeMutablePointer<GUnixFDList>?
        let reply = g_dbus_connection_call_with_unix_fd_list_finish(connection, &list, result, &error)
        defer { if let list { g_object_unref(UnsafeMutableRawPointer(list)) } }
        guard let reply else { return .failure(DBusError(taking: error)) }
        defer { g_variant_unref(reply) }
        return .success(MethodReply(DBusValue.children(of: reply), descriptors: steal(list)))
    }

    static func makeList(_ descriptors: [FileDescriptor]) -> UnsafeMutablePointer<GUnixFDList>? {
        guard !descriptors.isEmpty else { return nil }
        let list = g_unix_fd_list_new()
        for descriptor in descriptors { g_unix_fd_list_append(list, descriptor.rawValue, nil) }
        return list
    }

    static func steal(_ list: UnsafeMutablePointer<GUnixFDList>?) -> [FileDescriptor] {
        guard let list else { return [] }
        var count: Int32 = 0
        guard let start = g_unix_fd_list_steal_fds(list, &count) else { return [] }
        defer { g_free(start) }
        return UnsafeBufferPointer(start: start, count: Int(count)).map { FileDescriptor(owning: $0) }
    }
}
