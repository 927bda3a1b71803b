internal import CGLib

/// Serving objects through GDBus.
extension CallingConnection {
    /// Serves `object` until the returned number is passed to ``unexport(_:)``.
    func export(_ object: ExportedObject) throws(DBusError) -> UInt32 {
        let connection = try open()
        var error: UnsafeMutablePointer<GError>?
        guard let node = g_dbus_node_info_new_for_xml("<node>\(object.interface.xml)</node>", &error) else {
            throw DBusError(taking: error)
        }
        defer { g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        table.method_call = { _, sender, path, _, method, arguments, invocation, box in
            let box = Unmanaged<Box>.fromOpaque(box!).takeUnretainedValue()
            let object = box.object
            guard object.admits(sender.map { String(cString: $0) } ?? "") else {
                return g_dbus_method_invocation_return_dbus_error(
                    invocation!, CallingConnection.accessDenied, CallingConnection.notForYou)
            }
            let message = g_dbus_method_invocation_get_message(invocation)
            let call = IncomingCall(
                sender: sender.map { String(cString: $0) } ?? "", path: String(cString: path!),
                method: String(cString: method!), arguments: DBusValue.children(of: arguments!),
                descriptors: CallingConnection.steal(g_dbus_message_get_unix_fd_list(message)))
            // GDBus lets any thread answer an invocation once.
            nonisolated(unsafe) let invocation = invocation!
            // Starts immediately, so that calls reach an actor in the order of their arrival. Returns to the loop as
            // soon as there is an answer, so that nothing else is sent between the answer and its signals, and the
            // answer keeps its place among what the actor sends.
            Task.immediate(executorPreference: box.tasks) {
                CallingConnection.answer(invocation, await object.handle(call))
            }
        }
        table.get_property = { _, sender, _, _, name, error, box in
            let object = Unmanaged<Box>.fromOpaque(box!).takeUnretainedValue().object
            guard object.admits(sender.map { String(cString: $0) } ?? "") else {
                g_set_error_literal(
                    error, ble_dbus_error_quark(), Int32(G_DBUS_ERROR_ACCESS_DENIED.rawValue),
                    CallingConnection.notForYou)
                return nil
            }
            if let value = object.property(String(cString: name!)) { return value.makeGVariant() }
            g_set_error_literal(
                error, ble_dbus_error_quark(), Int32(G_DBUS_ERROR_UNKNOWN_PROPERTY.rawValue), "no such property")
            return nil
        }
        let id = g_dbus_connection_register_object(
            connection, object.path, node.pointee.interfaces[0], &table,
            Unmanaged.passRetained(Box(object, tasks)).toOpaque(), { Unmanaged<Box>.fromOpaque($0!).release() }, &error)
        guard id != 0 else { throw DBusError(taking: error) }
        return id
    }

    private static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    private static let notForYou = "only the service that this object is for may call it"

    private final class Box {
        let object: ExportedObject
        let tasks: LoopTaskExecutor

        init(_ object: ExportedObject, _ tasks: LoopTaskExecutor) { (self.object, self.tasks) = (object, tasks) }
    }

    private static func answer(_ invocation: OpaquePointer, _ result: Result<MethodReply, DBusError>) {
        switch result {
        case .success(let reply):
            let connection = g_dbus_method_invocation_get_connection(invocation)
            for signal in reply.signals {
                // Fails if the connection is closed, in which case the answer fails too.
                _ = g_dbus_connection_emit_signal(
                    connection, nil, signal.path, signal.interface, signal.name,
                    DBusValue.makeTuple(signal.arguments), nil)
            }
            let list = makeList(reply.descriptors)
            g_dbus_method_invocation_return_value_with_unix_fd_list(
                invocation, DBusValue.makeTuple(reply.values), list)
            if let list { g_object_unref(UnsafeMutableRawPointer(list)) }
        case .failure(let error):
            let name = error.name.isEmpty ? "org.freedesktop.DBus.Error.Failed" : error.name
            g_dbus_method_invocation_return_dbus_error(invocation, name, error.message)
        }
    }

    func unexport(_ id: UInt32) {
        guard let connection = try? open() else { return }
        g_dbus_connection_unregister_object(connection, id)
    }

    func emit(
        path: String, interface: String, signal: String, _ arguments: [DBusValue], to destination: String?
    ) throws(DBusError) {
        var error: UnsafeMutablePointer<GError>?
        let sent = g_dbus_connection_emit_signal(
            try open(), destination, path, interface, signal, DBusValue.makeTuple(arguments), &error)
        guard sent != 0 else { throw DBusError(taking: error) }
    }
}
