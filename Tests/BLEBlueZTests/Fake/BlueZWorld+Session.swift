import BLE
import BLEFakeBlueZ
import DBus
import BLETestSupport
import BlueZTestSupport
import Logging
import Loop

extension BlueZWorld {
    /// A program on the bus that makes its calls itself. The caller closes it.
    func makeSession(
        onSignal: @escaping @Sendable (IncomingMessage) -> Void = { _ in }
    ) async throws -> BusSession {
        let session = BusSession(
            loop: EventLoop(name: "program"), logger: Logger(label: "program") { _ in SwiftLogNoOpLogHandler() },
            onSignal: onSignal, onLoss: {})
        try await session.open(.address(bus.address), timeout: HangLimit.step)
        return session
    }
}

extension BusSession {
    /// Calls a method of bluetoothd.
    @discardableResult
    func callBlueZ(
        _ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...
    ) async throws(DBusError) -> MethodReply {
        try await call(MethodCall("org.bluez", path, interface, method, arguments), timeout: HangLimit.step)
    }

    /// The path of the first of bluetoothd's objects that has an interface and properties.
    func path(_ interface: String, _ properties: [String: DBusValue] = [:]) async throws -> String {
        let objects = try await callBlueZ("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        guard case .dictionary(_, _, let all)? = objects.values.first,
            let path = all.first(where: { object in
                object.value[key: interface].map { own in properties.allSatisfy { own[key: $0.key] == $0.value } }
                    == true
            })?.key.string
        else { throw BLEError(.failed, "no \(interface)") }
        return path
    }
}
