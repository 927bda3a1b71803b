import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import CGLib
import Synchronization

@testable import DBus

/// A program with a GDBusConnection of its own, on which it subscribes to signals, makes calls and serves an object.
final class GDBusProgram: Sendable {
    let connection: GDBusReference
    /// The members of the signals and calls that its connection has received, whoever they are for.
    let received = SharedValue<[String]>([])
    /// The members of those that it has subscribed to.
    let signals = SharedValue<[String]>([])

    static let interface = "org.example.Program"

    /// Connects, subscribes to the signals of an interface, and serves `/program`.
    init(_ bus: PrivateBus, subscribingTo interface: String) async {
        connection = bus.makeGDBusConnection()
        await inContext { program in
            g_dbus_connection_add_filter(
                program.connection.pointer,
                { _, message, isIncoming, me in
                    let me = Unmanaged<GDBusProgram>.fromOpaque(me!).takeUnretainedValue()
                    if isIncoming != 0, let member = g_dbus_message_get_member(message).map(String.init(cString:)) {
                        me.received.change { $0.append(member) }
                    }
                    return message
                }, program.pointer, nil)
            g_dbus_connection_signal_subscribe(
                program.connection.pointer, nil, interface, nil, nil, nil, G_DBUS_SIGNAL_FLAGS_NONE,
                { _, _, _, _, member, _, me in
                    let me = Unmanaged<GDBusProgram>.fromOpaque(me!).takeUnretainedValue()
                    let text = String(cString: member!)
                    me.signals.change { $0.append(text) }
                }, program.pointer, nil)
            program.serve()
        }
    }

    private var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private func serve() {
        let node = g_dbus_node_info_new_for_xml(
            """
            <node><interface name="\(Self.interface)"><method name="Greet">
            <arg type="s" direction="in"/><arg type="s" direction="out"/>
            </method></interface></node>
            """, nil)
        defer { g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        table.method_call = { _, _, _, _, _, arguments, invocation, _ in
            let name = DBusValue.children(of: arguments!)[0].string ?? ""
            g_dbus_method_invocation_return_value(
                invocation, DBusValue.makeTuple([.string("the program greets \(name)")]))
        }
        let id = g_dbus_connection_register_object(
            connection.pointer, "/program", g_dbus_node_info_lookup_interface(node, Self.interface), &table, nil, nil,
            nil)
        precondition(id > 0)
    }

    var isClosed: Bool { connection.isClosed }

    /// Calls a method without arguments. Returns whether it has answered.
    func call(_ destination: String, _ path: String, _ interface: String, _ method: String) async -> Bool {
        await inContext { program in
            let answer = g_dbus_connection_call_sync(
                program.connection.pointer, destination, path, interface, method, nil, nil,
                G_DBUS_CALL_FLAGS_NONE, .max, nil, nil)
            guard let answer else { return false }
            g_variant_unref(answer)
            return true
        }
    }

    /// Ends the program's use of its connection.
    func stop() async {
        await inContext { program in g_dbus_connection_close_sync(program.connection.pointer, nil, nil) }
    }

    @discardableResult
    private func inContext<Value: Sendable>(_ work: @escaping @Sendable (GDBusProgram) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            GLib.perform { continuation.resume(returning: work(self)) }
        }
    }
}
