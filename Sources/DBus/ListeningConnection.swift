internal import CDBus
internal import CGLib

/// The libdbus half of a bus session: signals, and the few questions whose answer must be in order with them.
///
/// Safe to share because everything but `init` happens on the loop's thread, which each entry checks.
final class ListeningConnection: @unchecked Sendable {
    private let loop: EventLoop
    private let onSignal: @Sendable (IncomingMessage) -> Void
    private let onLoss: @Sendable () -> Void
    private var connection: OpaquePointer?
    private var source: UnsafeMutablePointer<GSource>?
    private var watches: [OpaquePointer] = []
    private var waiters: [UInt32: Waiter] = [:]
    /// Messages have been read that are not dispatched yet.
    private var hasMessages = false

    /// Reads the answer to a question, on the loop's thread, in order with the signals around it.
    private struct Waiter {
        let answered: (Result<OpaquePointer, DBusError>) -> Void
    }

    /// How many messages are dispatched before the loop's other work gets its turn.
    private static let dispatchesPerTurn = 64

    init(
        loop: EventLoop, onSignal: @escaping @Sendable (IncomingMessage) -> Void,
        onLoss: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.onSignal = onSignal
        self.onLoss = onLoss
    }

    deinit {
        // Closing has been done on the loop's thread; a session that is dropped open closes itself in `Bus`.
        assert(connection == nil, "dropped while open")
    }

    // MARK: Opening and closing

    /// Connects and says hello. Throws `.unreachable` when there is no bus at `address`.
    func open(address: String, timeout: Duration) async throws(DBusError) {
        loop.checkIsolated()
        var error = DBusError_C()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let connection = dbus_connection_open_private(address, &error) else {
            throw DBusError(.unreachable, name: text(error.name), message: text(error.message))
        }
        self.connection = connection
        dbus_connection_set_exit_on_disconnect(connection, 0)
        attach(connection)
        let hello = MethodCall(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
        let name = try await ask(hello, timeout: timeout) { (reader) throws(DBusError) in try reader.string() }
        dbus_bus_set_unique_name(connection, name)
    }

    private func attach(_ connection: OpaquePointer) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_watch_functions(
            connection,
            { watch, me in
                Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().add(watch: watch!)
                return 1
            },
            { watch, me in
                Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().remove(watch: watch!)
            },
            { _, me in Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().updateCondition() },
            me, nil)
        dbus_connection_add_filter(
            connection,
            { _, message, me in
                Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().receive(message!)
            },
            me, nil)
        dbus_connection_set_dispatch_status_function(
            connection,
            { _, status, me in
                let me = Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue()
                me.hasMessages = status == DBUS_DISPATCH_DATA_REMAINS
            },
            me, nil)
        hasMessages = dbus_connection_get_dispatch_status(connection) == DBUS_DISPATCH_DATA_REMAINS
        var actions = BLESourceActions()
        actions.context = me
        actions.ready = { me in
            Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().hasMessages ? 1 : 0
        }
        actions.run = { me, condition in
            Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().run(condition)
        }
        var descriptor: Int32 = -1
        dbus_connection_get_unix_fd(connection, &descriptor)
        source = ble_source_attach(loop.context, descriptor, GIOCondition(rawValue: 0), actions)
        updateCondition()
    }

    /// Closes at once; what waits fails with `.disconnected`. The loss handler is not called.
    func close() {
        loop.checkIsolated()
        guard let connection else { return }
        self.connection = nil
        if let source {
            g_source_destroy(source)
            g_source_unref(source)
            self.source = nil
        }
        dbus_connection_set_dispatch_status_function(connection, nil, nil, nil)
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
        failWaiters()
    }

    private func failWaiters() {
        let lost = waiters
        waiters = [:]
        for waiter in lost.values {
            waiter.answered(.failure(DBusError(.disconnected, message: "the connection to the bus is closed")))
        }
    }

    // MARK: Watches

    private func add(watch: OpaquePointer) {
        watches.append(watch)
        updateCondition()
    }

    private func remove(watch: OpaquePointer) {
        watches.removeAll { $0 == watch }
        updateCondition()
    }

    private func updateCondition() {
        guard let source else { return }
        var condition: UInt32 = 0
        for watch in watches where dbus_watch_get_enabled(watch) != 0 {
            let flags = dbus_watch_get_flags(watch)
            if flags & ble_dbus_watch_readable != 0 { condition |= G_IO_IN.rawValue }
            if flags & ble_dbus_watch_writable != 0 { condition |= G_IO_OUT.rawValue }
        }
        ble_source_set_condition(source, GIOCondition(rawValue: condition))
    }

    private func run(_ condition: GIOCondition) {
        guard let connection else { return }
        var flags: UInt32 = 0
        if condition.rawValue & G_IO_IN.rawValue != 0 { flags |= ble_dbus_watch_readable }
        if condition.rawValue & G_IO_OUT.rawValue != 0 { flags |= ble_dbus_watch_writable }
        if condition.rawValue & G_IO_HUP.rawValue != 0 { flags |= ble_dbus_watch_hangup }
        if condition.rawValue & G_IO_ERR.rawValue != 0 { flags |= ble_dbus_watch_error }
        if flags != 0 {
            for watch in watches where dbus_watch_get_enabled(watch) != 0 {
                let wanted = dbus_watch_get_flags(watch) | ble_dbus_watch_hangup | ble_dbus_watch_error
                if flags & wanted != 0 { dbus_watch_handle(watch, flags & wanted) }
            }
        }
        // A handler may close this connection; libdbus needs it alive until the dispatch returns.
        dbus_connection_ref(connection)
        defer { dbus_connection_unref(connection) }
        for _ in 0..<Self.dispatchesPerTurn {
            guard self.connection != nil, dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS else {
                break
            }
        }
        // What the messages have set off follows at once, without another turn of the loop.
        loop.runPending()
    }

    // MARK: Receiving

    private func receive(_ message: OpaquePointer) -> DBusHandlerResult {
        switch dbus_message_get_type(message) {
        case 4:  // a signal
            if dbus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") != 0 {
                close()
                onLoss()
            } else {
                onSignal(IncomingMessage(message))
            }
            return DBUS_HANDLER_RESULT_HANDLED
        case 2:  // a return
            guard let waiter = waiters.removeValue(forKey: dbus_message_get_reply_serial(message)) else { break }
            waiter.answered(.success(message))
            return DBUS_HANDLER_RESULT_HANDLED
        case 3:  // an error
            guard let waiter = waiters.removeValue(forKey: dbus_message_get_reply_serial(message)) else { break }
            var reader = MessageReader(message)
            let reason = (try? reader.string()) ?? ""
            waiter.answered(.failure(.remote(text(dbus_message_get_error_name(message)), reason)))
            return DBUS_HANDLER_RESULT_HANDLED
        default:
            break
        }
        return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
    }

    // MARK: Asking

    /// Makes a call whose answer is read in order with the signals. Arguments may be strings only.
    ///
    /// `read` runs on the loop's thread between the signals that came before the answer and those that come after it.
    func ask<Value: Sendable>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        loop.checkIsolated()
        guard let connection else { throw DBusError(.disconnected, message: "the connection to the bus is closed") }
        if Task.isCancelled { throw .cancelled }
        let message = dbus_message_new_method_call(call.destination, call.path, call.interface, call.method)!
        defer { dbus_message_unref(message) }
        dbus_message_set_auto_start(message, 0)
        append(call.arguments, to: message)
        let outcome = OneShot<Value>()
        var serial: UInt32 = 0
        let timer = loop.schedule(after: timeout) {
            outcome.finish(.failure(DBusError(.timedOut, message: "no answer to \(call.method) within \(timeout)")))
        }
        // Whatever ended the wait, the serial is not waited for any longer: this runs on the loop's thread again.
        defer {
            waiters[serial] = nil
            timer.cancel()
        }
        guard dbus_connection_send(connection, message, &serial) != 0 else {
            throw DBusError(.disconnected, message: "out of memory")
        }
        waiters[serial] = Waiter { answer in
            switch answer {
            case .failure(let error): outcome.finish(.failure(error))
            case .success(let message):
                var reader = MessageReader(message)
                do throws(DBusError) {
                    outcome.finish(.success(try read(&reader)))
                } catch {
                    outcome.finish(.failure(error))
                }
            }
        }
        return try await outcome.wait()
    }

    private func append(_ arguments: [DBusValue], to message: OpaquePointer) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        for argument in arguments {
            guard let string = argument.string else { preconditionFailure("only strings can be asked with") }
            string.withCString { text in
                var text: UnsafePointer<CChar>? = text
                dbus_message_iter_append_basic(&iterator, Int32(UInt8(ascii: "s")), &text)
            }
        }
    }

    /// Asks the bus to deliver what matches `rule`.
    func addMatch(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await ask(
            MethodCall(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [.string(rule)]),
            timeout: timeout
        ) { _ in }
    }
}

private typealias DBusError_C = CDBus.DBusError

private func text(_ start: UnsafePointer<CChar>?) -> String {
    start.map { String(cString: $0) } ?? ""
}
