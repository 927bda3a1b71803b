internal import CGLib

/// Encodes messages with GDBus.
enum OutgoingMessage {
    static func call(_ call: MethodCall, serial: UInt32) throws(DBusError) -> [UInt8] {
        let message = g_dbus_message_new_method_call(call.destination, call.path, call.interface, call.method)!
        g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_AUTO_START)
        g_dbus_message_set_body(message, DBusValue.makeTuple(call.arguments))
        return try bytes(message, serial)
    }

    static func error(
        _ name: String, _ text: String, to destination: String, replyingTo reply: UInt32, serial: UInt32
    ) throws(DBusError) -> [UInt8] {
        let message = g_dbus_message_new()!
        g_dbus_message_set_message_type(message, G_DBUS_MESSAGE_TYPE_ERROR)
        g_dbus_message_set_flags(message, G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED)
        g_dbus_message_set_destination(message, destination)
        g_dbus_message_set_reply_serial(message, reply)
        g_dbus_message_set_error_name(message, name)
        g_dbus_message_set_body(message, DBusValue.makeTuple([.string(text)]))
        return try bytes(message, serial)
    }

    /// Encodes a message and releases it.
    private static func bytes(_ message: OpaquePointer, _ serial: UInt32) throws(DBusError) -> [UInt8] {
        defer { g_object_unref(UnsafeMutableRawPointer(message)) }
        g_dbus_message_set_serial(message, serial)
        var count: gsize = 0
        var error: UnsafeMutablePointer<GError>?
        guard let start = g_dbus_message_to_blob(message, &count, G_DBUS_CAPABILITY_FLAGS_NONE, &error) else {
            throw DBusError(taking: error)
        }
        defer { g_free(start) }
        return [UInt8](UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
