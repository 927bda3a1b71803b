internal import CGLib
internal import CLoop
internal import Loop
internal import Synchronization

/// A GDBusConnection as the carrier of one session's messages; see Docs/Decisions/0010.
///
/// Its filter sees every message in order, in GDBus's thread, and queues the bytes of those that belong to the session.
/// The loop reads them as from a socket.
///
/// Safe to share: what several threads use is constant or protected by the mutex, GLib lets any thread use a
/// GDBusConnection, and the rest is used on the loop's thread only.
final class GDBusCarrier: BusCarrier, @unchecked Sendable {
    /// The maximum number of bytes that GDBus has not written.
    private static let room = 256 << 10
    /// The number of the call that is never answered. No other has it, because it is not a valid serial number.
    private static let endlessCall: UInt32 = 0

    private struct State {
        var arrivals = ArrivalQueue()
        /// Whether the event is set.
        var isSignaled = false
        var isOver = false
        /// The lengths of the messages that GDBus has not written, by their serial numbers on the bus.
        var unwritten: [UInt32: Int] = [:]
        var unwrittenCount = 0
        /// Whether a message was refused, and no write has followed.
        var isRoomAwaited = false
        /// The session's serial numbers of the unanswered calls, by those on the bus.
        var calls: [UInt32: UInt32] = [:]
        /// The match rules that the bus was asked for.
        var rules: [String] = []

        /// Whether to report that there is room again.
        var hasAwaitedRoom: Bool { isRoomAwaited && unwrittenCount < GDBusCarrier.room / 2 }
        /// Whether there is nothing to report to the loop.
        var isQuiet: Bool { arrivals.isEmpty && !isOver && !hasAwaitedRoom }
    }

    private let connection: GDBusReference
    /// Whether the connection exists for others, too.
    private let isShared: Bool
    /// Whether the session serves an object at a path.
    private let serves: @Sendable (String) -> Bool
    /// An event of the kernel.
    let descriptor: FileDescriptor
    private let loop: EventLoop
    private let cancellable = Cancellable()
    private var filter: guint = 0
    private let state = Mutex(State())

    var isWritableWithRoom: Bool { false }

    /// Throws `.unreachable` if the connection is closed or not one to a bus, and `.exhausted` without descriptors.
    ///
    /// - Parameters:
    ///   - isShared: whether to leave calls of other objects to GDBus, and the connection open at the end.
    ///   - serves: whether the session serves an object at a path. Called in GDBus's thread.
    init(
        _ connection: GDBusReference, isShared: Bool, loop: EventLoop, serves: @escaping @Sendable (String) -> Bool
    ) throws(DBusError) {
        guard !connection.isClosed, connection.uniqueName != nil else {
            throw DBusError(.unreachable, message: "the GDBusConnection is closed, or not one to a message bus")
        }
        descriptor = FileDescriptor(owning: ble_event_create())
        guard descriptor.rawValue >= 0 else { throw DBusError(LoopError.exhausted) }
        (self.connection, self.isShared, self.loop, self.serves) = (connection, isShared, loop, serves)
    }

    /// Starts to receive, until ``close()``.
    func open() async {
        await withCheckedContinuation { continuation in
            GLib.perform { [self] in
                addFilter()
                awaitEnd()
                continuation.resume()
            }
        }
    }

    /// Adds the filter in GLib's context, in which GDBus releases it.
    private func addFilter() {
        filter = g_dbus_connection_add_filter(
            connection.pointer,
            { _, message, isIncoming, me in
                let me = Unmanaged<GDBusCarrier>.fromOpaque(me!).takeUnretainedValue()
                if isIncoming != 0 { return me.receive(message!) }
                me.willWrite(g_dbus_message_get_serial(message))
                return message
            }, Unmanaged.passRetained(self).toOpaque(), { Unmanaged<GDBusCarrier>.fromOpaque($0!).release() })
    }

    /// Has GDBus call back at the end of the connection: it fails the calls that are unanswered, of which this is one
    /// because the filter keeps its answer. The connection's signal `closed` is for the main context in which the
    /// connection was made, which need not run.
    private func awaitEnd() {
        let call = g_dbus_message_new_method_call(
            NameOwner.bus, "/org/freedesktop/DBus", "org.freedesktop.DBus.Peer", "Ping")!
        defer { g_object_unref(UnsafeMutableRawPointer(call)) }
        state.withLock { state in
            var serial: UInt32 = 0
            g_dbus_connection_send_message_with_reply(
                connection.pointer, call, G_DBUS_SEND_MESSAGE_FLAGS_NONE, .max, &serial, cancellable.pointer,
                { connection, result, me in
                    // The answer comes here if the filter was removed before it arrived.
                    if let answer = g_dbus_connection_send_message_with_reply_finish(
                        OpaquePointer(connection), result, nil)
                    {
                        g_object_unref(UnsafeMutableRawPointer(answer))
                    }
                    let me = Unmanaged<GDBusCarrier>.fromOpaque(me!).takeRetainedValue()
                    me.state.withLock { state in
                        state.isOver = true
                        me.signal(&state)
                    }
                }, Unmanaged.passRetained(self).toOpaque())
            state.calls[serial] = Self.endlessCall
        }
    }

    func close() {
        loop.checkIsolated()
        cancellable.cancel()
        g_dbus_connection_remove_filter(connection.pointer, filter)
        let unread = state.withLock { state in
            state.isOver = true
            return state.arrivals.takeDescriptors()
        }
        _ = DescriptorReaper.shared.close(unread)
        guard !isShared else {
            return state.withLock { state in
                for rule in state.rules {
                    let call = MethodCall.bus("RemoveMatch", [.string(rule)])
                    guard let bytes = try? OutgoingMessage.call(call, serial: 1) else { continue }
                    _ = send(bytes, [], &state)
                }
            }
        }
        // Closing discards what is not written. A bus that does not read is not waited for.
        let timer = loop.schedule(after: .seconds(1)) { [connection] in connection.close() }
        GLib.perform { [self] in
            g_dbus_connection_flush(
                connection.pointer, nil,
                { connection, result, flush in
                    g_dbus_connection_flush_finish(OpaquePointer(connection), result, nil)
                    let flush = Unmanaged<Flush>.fromOpaque(flush!).takeRetainedValue()
                    flush.timer.cancel()
                    flush.carrier.connection.close()
                }, Unmanaged.passRetained(Flush(self, timer)).toOpaque())
        }
    }

    /// What GDBus is given back when everything is written. It retains the loop of the timer until then.
    private final class Flush {
        let carrier: GDBusCarrier
        let timer: LoopTimer

        init(_ carrier: GDBusCarrier, _ timer: LoopTimer) { (self.carrier, self.timer) = (carrier, timer) }
    }

    // MARK: Receiving, in GDBus's thread

    /// Takes over a message. Returns it if it is for others, too; nil if GDBus is not to see it.
    private func receive(_ message: OpaquePointer) -> OpaquePointer? {
        var isTaken = !isShared
        var serial: UInt32?
        switch g_dbus_message_get_message_type(message) {
        case G_DBUS_MESSAGE_TYPE_METHOD_RETURN, G_DBUS_MESSAGE_TYPE_ERROR:
            serial = state.withLock { $0.calls[g_dbus_message_get_reply_serial(message)] }
            guard serial != nil else { return message }
            isTaken = true
        case G_DBUS_MESSAGE_TYPE_METHOD_CALL:
            isTaken = isTaken || g_dbus_message_get_path(message).map { serves(String(cString: $0)) } ?? false
            guard isTaken else { return message }
        default: break
        }
        if serial != Self.endlessCall { queue(message, answerTo: serial, takesDescriptors: isTaken) }
        guard isTaken else { return message }
        g_object_unref(UnsafeMutableRawPointer(message))
        return nil
    }

    private func queue(_ message: OpaquePointer, answerTo serial: UInt32?, takesDescriptors: Bool) {
        guard var bytes = Self.bytes(of: message) else { return }
        if let serial { IncomingMessage.setReplySerial(serial, in: &bytes) }
        // Those of a signal that others receive as well stay theirs: no session wants any.
        let descriptors = g_dbus_message_get_unix_fd_list(message).map { takesDescriptors ? Self.take($0) : [] }
        let isQueued = state.withLock { state in
            guard !state.isOver else { return false }
            let isQueued = state.arrivals.append(bytes, descriptors)
            // GDBus reads whether or not anybody handles the messages, so the connection is given up.
            if !isQueued { state.isOver = true }
            signal(&state)
            return isQueued
        }
        if !isQueued, let descriptors { _ = DescriptorReaper.shared.close(descriptors) }
    }

    private static func bytes(of message: OpaquePointer) -> [UInt8]? {
        var count: gsize = 0
        var blob = g_dbus_message_to_blob(message, &count, G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, nil)
        // The kernel passes no descriptors if the process can have no more, and GDBus does not write what lacks some.
        if blob == nil, let copy = g_dbus_message_copy(message, nil) {
            g_dbus_message_set_num_unix_fds(copy, 0)
            blob = g_dbus_message_to_blob(copy, &count, G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, nil)
            g_object_unref(UnsafeMutableRawPointer(copy))
        }
        defer { g_free(blob) }
        return blob.map { Array(UnsafeBufferPointer(start: $0, count: Int(count))) }
    }

    private static func take(_ list: UnsafeMutablePointer<GUnixFDList>) -> [FileDescriptor] {
        var count: gint = 0
        let descriptors = g_unix_fd_list_steal_fds(list, &count)
        defer { g_free(descriptors) }
        return UnsafeBufferPointer(start: descriptors, count: Int(count)).map { FileDescriptor(owning: $0) }
    }

    private func signal(_ state: inout State) {
        guard !state.isSignaled else { return }
        state.isSignaled = true
        ble_event_set(descriptor.rawValue)
    }

    // MARK: Reading

    func read(into space: UnsafeMutableRawBufferPointer) -> BusReading {
        state.withLock { state in
            let (count, descriptors) = state.arrivals.read(into: space)
            if state.isSignaled, state.isQuiet {
                state.isSignaled = false
                ble_event_clear(descriptor.rawValue)
            }
            if count > 0 { return .bytes(count, descriptors) }
            return state.isOver ? .over : .nothingYet
        }
    }

    func answered(_ serial: UInt32) {
        state.withLock { state in
            if let index = state.calls.firstIndex(where: { $0.value == serial }) { state.calls.remove(at: index) }
        }
    }

    // MARK: Writing

    func write(_ bytes: ArraySlice<UInt8>, _ descriptors: [FileDescriptor]) -> Int? {
        state.withLock { state in
            var (rest, descriptors) = (bytes, descriptors)
            state.isRoomAwaited = false
            while !rest.isEmpty {
                guard state.unwrittenCount < Self.room else {
                    state.isRoomAwaited = true
                    break
                }
                guard let length = rest.withUnsafeBytes({ try? IncomingMessage.length($0) }),
                    send(Array(rest.prefix(length)), descriptors, &state)
                else { return nil }
                (rest, descriptors) = (rest.dropFirst(length), [])
            }
            return bytes.count - rest.count
        }
    }

    /// Hands a message to GDBus. Returns false if it does not accept it.
    private func send(_ bytes: [UInt8], _ descriptors: [FileDescriptor], _ state: inout State) -> Bool {
        var bytes = bytes
        guard
            let message = g_dbus_message_new_from_blob(
                &bytes, gsize(bytes.count), G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING, nil)
        else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(message)) }
        if !descriptors.isEmpty {
            let list = g_unix_fd_list_new()!
            defer { g_object_unref(list) }
            for descriptor in descriptors {
                guard g_unix_fd_list_append(list, descriptor.rawValue, nil) >= 0 else { return false }
            }
            g_dbus_message_set_unix_fd_list(message, list)
        }
        let isCall = g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL
        let own = g_dbus_message_get_serial(message)
        var serial: UInt32 = 0
        guard
            g_dbus_connection_send_message(
                connection.pointer, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, &serial, nil) != 0
        else { return false }
        // GDBus's thread waits for the lock before it writes the message, and so before there can be an answer.
        state.unwritten[serial] = bytes.count
        state.unwrittenCount += bytes.count
        guard isCall else { return true }
        state.calls[serial] = own
        if isShared, String(cString: g_dbus_message_get_member(message)) == "AddMatch",
            let rule = g_dbus_message_get_arg0(message)
        {
            state.rules.append(String(cString: rule))
        }
        return true
    }

    /// Notes that GDBus is about to write a message, of this session or another.
    private func willWrite(_ serial: UInt32) {
        state.withLock { state in
            guard let count = state.unwritten.removeValue(forKey: serial) else { return }
            state.unwrittenCount -= count
            if state.hasAwaitedRoom { signal(&state) }
        }
    }
}
