import BLETestSupport
import CDBus
import Foundation
import Synchronization

/// A service and client on libdbus alone, so that a session is not tested against itself.
///
/// It owns `org.example.Libdbus` and answers at `/`: `Echo` gives back its bytes, `Fail` an error, `Hang` nothing, `Pipe` the
/// reading end of a pipe that holds "through", `Count` the length of what can be read from a descriptor, `Emit` a signal
/// `Happened` with a text and a dictionary, before its answer, and `Leave` ends the connection.
///
/// Safe to share: libdbus locks its connections, and the flag is atomic.
final class LibdbusService: @unchecked Sendable {
    static let name = "org.example.Libdbus"
    private let connection: OpaquePointer
    private let isStopped = Atomic(false)
    private let finished = DispatchSemaphore(value: 0)

    init(address: String) throws {
        var error = CDBus.DBusError()
        dbus_error_init(&error)
        guard let connection = dbus_connection_open_private(address, &error),
            dbus_bus_register(connection, &error) != 0
        else { throw POSIXError(.ECONNREFUSED) }
        self.connection = connection
        dbus_connection_set_exit_on_disconnect(connection, 0)
        dbus_bus_request_name(connection, Self.name, 0, &error)
        dbus_connection_add_filter(
            connection,
            { connection, message, me in
                Unmanaged<LibdbusService>.fromOpaque(me!).takeUnretainedValue().receive(message!)
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        Thread.detachNewThread { [isDone = finished] in
            let connection = self.connection
            while dbus_connection_read_write_dispatch(connection, 20) != 0, !self.isStopped.load(ordering: .relaxed) {}
            isDone.signal()
        }
    }

    /// Ends the service; must be called, once.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        finished.wait()
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
    }

    private func receive(_ message: OpaquePointer) -> DBusHandlerResult {
        guard dbus_message_get_type(message) == 1, let member = dbus_message_get_member(message) else {
            return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
        }
        let reply: OpaquePointer
        switch String(cString: member) {
        case "Echo":
            return echo(message)
        case "Fail":
            reply = dbus_message_new_error(message, "org.example.Error.Broken", "it broke")
        case "Hang":
            return DBUS_HANDLER_RESULT_HANDLED
        case "Pipe":
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            _ = write(ends[1], "through", 7)
            close(ends[1])
            reply = dbus_message_new_method_return(message)
            append(reply, "h", ends[0])
            close(ends[0])
        case "Count":
            var iterator = DBusMessageIter()
            dbus_message_iter_init(message, &iterator)
            var descriptor: Int32 = -1
            dbus_message_iter_get_basic(&iterator, &descriptor)
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(descriptor, &buffer, buffer.count)
            close(descriptor)
            reply = dbus_message_new_method_return(message)
            append(reply, "u", UInt32(count))
        case "Emit":
            emit()
            reply = dbus_message_new_method_return(message)
        case "Leave":
            isStopped.store(true, ordering: .relaxed)
            dbus_connection_close(connection)
            return DBUS_HANDLER_RESULT_HANDLED
        default:
            return DBUS_HANDLER_RESULT_NOT_YET_HANDLED
        }
        dbus_connection_send(connection, reply, nil)
        dbus_message_unref(reply)
        return DBUS_HANDLER_RESULT_HANDLED
    }

    private func append<Value: BitwiseCopyable>(_ message: OpaquePointer, _ type: Unicode.Scalar, _ value: Value) {
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        var value = value
        dbus_message_iter_append_basic(&iterator, Int32(type.value), &value)
    }

    /// Answers with the first argument, a byte array.
    private func echo(_ message: OpaquePointer) -> DBusHandlerResult {
        var source = DBusMessageIter()
        var elements = DBusMessageIter()
        dbus_message_iter_init(message, &source)
        dbus_message_iter_recurse(&source, &elements)
        var start: UnsafePointer<UInt8>?
        var count: Int32 = 0
        dbus_message_iter_get_fixed_array(&elements, &start, &count)
        let reply = dbus_message_new_method_return(message)!
        var target = DBusMessageIter()
        var array = DBusMessageIter()
        dbus_message_iter_init_append(reply, &target)
        dbus_message_iter_open_container(&target, Int32(UInt8(ascii: "a")), "y", &array)
        dbus_message_iter_append_fixed_array(&array, Int32(UInt8(ascii: "y")), &start, count)
        dbus_message_iter_close_container(&target, &array)
        dbus_connection_send(connection, reply, nil)
        dbus_message_unref(reply)
        return DBUS_HANDLER_RESULT_HANDLED
    }

    /// `Happened("now", {"level": <uint16 7>})`.
    private func emit() {
        let signal = dbus_message_new_signal("/", "org.example.Events", "Happened")!
        var body = DBusMessageIter()
        var entries = DBusMessageIter()
        var entry = DBusMessageIter()
        var variant = DBusMessageIter()
        dbus_message_iter_init_append(signal, &body)
        Self.appendText("now", &body)
        dbus_message_iter_open_container(&body, Int32(UInt8(ascii: "a")), "{sv}", &entries)
        dbus_message_iter_open_container(&entries, Int32(UInt8(ascii: "e")), nil, &entry)
        Self.appendText("level", &entry)
        dbus_message_iter_open_container(&entry, Int32(UInt8(ascii: "v")), "q", &variant)
        var level: UInt16 = 7
        dbus_message_iter_append_basic(&variant, Int32(UInt8(ascii: "q")), &level)
        dbus_message_iter_close_container(&entry, &variant)
        dbus_message_iter_close_container(&entries, &entry)
        dbus_message_iter_close_container(&body, &entries)
        dbus_connection_send(connection, signal, nil)
        dbus_message_unref(signal)
    }

    private static func appendText(_ text: String, _ iterator: inout DBusMessageIter) {
        text.withCString { text in
            var text: UnsafePointer<CChar>? = text
            dbus_message_iter_append_basic(&iterator, Int32(UInt8(ascii: "s")), &text)
        }
    }
}

/// A call on libdbus alone: a method with one string argument, whose answer is one string or an error's name.
enum LibdbusClient {
    static func call(
        _ address: String, _ destination: String, _ path: String, _ interface: String, _ method: String,
        _ arguments: [String]
    ) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: block(address, destination, path, interface, method, arguments))
            }
        }
    }

    private static func block(
        _ address: String, _ destination: String, _ path: String, _ interface: String, _ method: String,
        _ arguments: [String]
    ) -> String {
        var error = CDBus.DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let connection = dbus_connection_open_private(address, &error),
            dbus_bus_register(connection, &error) != 0
        else { return String(cString: error.name) }
        defer {
            dbus_connection_close(connection)
            dbus_connection_unref(connection)
        }
        let message = dbus_message_new_method_call(destination, path, interface, method)!
        defer { dbus_message_unref(message) }
        var iterator = DBusMessageIter()
        dbus_message_iter_init_append(message, &iterator)
        for argument in arguments {
            argument.withCString { text in
                var text: UnsafePointer<CChar>? = text
                dbus_message_iter_append_basic(&iterator, Int32(UInt8(ascii: "s")), &text)
            }
        }
        guard
            let reply = dbus_connection_send_with_reply_and_block(
                connection, message, Int32(HangLimit.stepSeconds * 1000), &error)
        else {
            return String(cString: error.name)
        }
        defer { dbus_message_unref(reply) }
        dbus_message_iter_init(reply, &iterator)
        if dbus_message_iter_get_arg_type(&iterator) == Int32(UInt8(ascii: "v")) {
            var inner = DBusMessageIter()
            dbus_message_iter_recurse(&iterator, &inner)
            iterator = inner
        }
        guard dbus_message_iter_get_arg_type(&iterator) == Int32(UInt8(ascii: "s")) else { return "" }
        var text: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &text)
        return text.map { String(cString: $0) } ?? ""
    }
}
