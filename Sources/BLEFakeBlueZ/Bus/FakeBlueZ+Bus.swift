import BLEBlueZ
import DBus
import Loop
import Synchronization

/// Exported objects and signals.
extension FakeBlueZ {
    private typealias Answer = Result<MethodReply, DBusError>

    /// Uses the bus at once, in the order of the calls: the daemon sends its messages before it does anything else
    /// (`g_dbus_flush` in its `gdbus/object.c`).
    private func onBus(_ work: @escaping @Sendable (isolated BusSession) -> Void) {
        guard let session else { return }
        loop.perform { session.assumeIsolated { work($0) } }
    }

    func export(
        _ path: String, _ interface: InterfaceDescription,
        _ handle: @escaping @Sendable (isolated FakeBlueZ, IncomingCall) async -> Result<MethodReply, DBusError>,
        property: @escaping @Sendable (String) -> DBusValue? = { _ in nil }
    ) {
        let object = ExportedObject(path: path, interface: interface) { [weak self, bus = loop] call in
            await withCheckedContinuation { answered in
                // Begun when this task waits: an answer that came before would be sent before the signals that are
                // queued on the bus.
                bus.perform { [weak self] in
                    // A task that prefers the loop, as this one does, would be queued again for each step on this
                    // actor.
                    Task.immediate {
                        guard let self else {
                            return answered.resume(returning: .failure(.bluez("Failed", "gone")))
                        }
                        await self.process(call, handle) { (answer: consuming Answer) in
                            answered.resume(returning: consume answer)
                        }
                    }
                }
            }
        } property: { name in
            property(name)
        }
        onBus { [weak self] session in
            let id = try? session.export(object)
            self?.exports.withLock { $0["\(path) \(interface.name)"] = id }
        }
    }

    /// Signals the removal of objects, those with the deepest paths first.
    func removed(_ objects: [(path: String, interface: String)]) {
        for object in objects {
            emit(
                "/", BlueZ.objectManager, "InterfacesRemoved",
                [.objectPath(object.path), .strings([BlueZ.properties, Self.introspectable, object.interface])])
            unexport(object.path, object.interface)
        }
    }

    func unexport(_ path: String, _ interface: String) {
        onBus { [weak self] session in
            if let id = self?.exports.withLock({ $0.removeValue(forKey: "\(path) \(interface)") }) {
                session.unexport(id)
            }
        }
    }

    /// Carries out one call. Its start and its record are one step, and so are its end and its answer, which is
    /// therefore sent before any later signal.
    ///
    /// - Parameter answer: takes the answer, of which no copy remains here: the descriptors in it are closed as soon as
    ///   they are sent, before the client can close its own.
    private func process(
        _ call: IncomingCall,
        _ handle: @Sendable (isolated FakeBlueZ, IncomingCall) async -> Result<MethodReply, DBusError>,
        answer: (consuming Answer) -> Void
    ) async {
        // The daemon keeps a client from the moment of its call, not from the peripheral's answer, and forgets it at
        // its StopNotify (`characteristic_start_notify` in its `src/gatt-client.c`).
        let client = client(call.sender)
        if call.method == "StartDiscovery" { client.unansweredStarts += 1 }
        defer { if call.method == "StartDiscovery" { client.unansweredStarts -= 1 } }
        if call.method == "StartNotify" { client.pendingStarts.insert(call.path) }
        if call.method == "StopNotify" { client.pendingStarts.remove(call.path) }
        // A second write of an attribute is refused until the peripheral has answered the first (`write_op` in the same
        // file). A command has no answer, so no later write is refused because of it.
        let isWrite = call.method == "WriteValue"
        if isWrite, writing.contains(call.path) {
            count(call.method)
            return answer(.failure(.bluez("InProgress", "In Progress")))
        }
        let isAnswered = isWrite && call.arguments.last?[key: "type"]?.string != "command"
        if isAnswered { writing.insert(call.path) }
        defer { if isAnswered { writing.remove(call.path) } }
        let life = session
        await waitWhileHanging(call.method)
        // It may have died meanwhile, or the client has left.
        guard life != nil, session === life, !client.hasLeft else {
            return answer(.failure(.bluez("Failed", "gone")))
        }
        if call.method == "StartNotify", client.pendingStarts.remove(call.path) == nil {
            return answer(.failure(.bluez("Failed", "withdrawn")))
        }
        count(call.method)
        if let error = faults.takeError(of: call.method) { return answer(.failure(error)) }
        let result = await handle(self, call)
        await waitWhileHanging("after \(call.method)")
        answer(consume result)
    }

    /// The calls of other adapters are counted under the adapter's name and the method's.
    private func count(_ method: String) {
        let key = name == "hci0" ? method : "\(name) \(method)"
        first.or(self).assumeIsolated { $0.calls[key, default: 0] += 1 }
    }

    func emit(_ path: String, _ interface: String, _ signal: String, _ arguments: [DBusValue]) {
        onBus { session in try? session.emit(path: path, interface: interface, signal: signal, arguments) }
    }

    /// The signal that properties have changed.
    static func signal(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> OutgoingSignal {
        OutgoingSignal(
            path, BlueZ.properties, "PropertiesChanged", [.string(interface), .options(properties), .strings([])])
    }

    func changed(
        _ path: String, _ interface: String, _ properties: [String: DBusValue], invalidated: [String] = []
    ) {
        emit(
            path, BlueZ.properties, "PropertiesChanged",
            [.string(interface), .options(properties), .strings(invalidated)])
    }

    // MARK: Objects

    /// The objects of all adapters, in the form of an answer.
    var managedObjects: DBusValue {
        var objects = objects
        for other in others.values { objects.merge(other.assumeIsolated { $0.objects }) { $1 } }
        let managers = faults.hasAgentManager ? [BlueZ.agentManager: [String: DBusValue]()] : [:]
        objects[.objectPath("/org/bluez")] = dictionary(managers.merging([Self.introspectable: [:]]) { $1 })
        // Parents first.
        let ordered = objects.sorted { $0.key.string ?? "" < $1.key.string ?? "" }
        return .orderedDictionary(key: "o", value: "a{sa{sv}}", ordered.map { ($0.key, $0.value) })
    }

    private var objects: [DBusValue: DBusValue] {
        var objects: [DBusValue: DBusValue] = [:]
        if isPresent { objects[.objectPath(adapterPath)] = interfaces(adapterInterfaces) }
        for device in devices.values {
            for (path, properties) in device.objects { objects[.objectPath(path)] = interfaces(properties) }
        }
        return objects
    }

    private static let introspectable = "org.freedesktop.DBus.Introspectable"

    /// The interfaces of an object, with those that all have that have properties.
    func interfaces(_ interfaces: [String: [String: DBusValue]]) -> DBusValue {
        dictionary(interfaces.merging([Self.introspectable: [:], BlueZ.properties: [:]]) { $1 })
    }

    private func dictionary(_ interfaces: [String: [String: DBusValue]]) -> DBusValue {
        // The object's own interface comes first: bluetoothctl 5.66 crashes if an adapter's is not the first that it
        // hears of.
        func rank(_ name: String) -> Int {
            [BlueZ.adapter, BlueZ.device].contains(name) ? 0 : name.hasPrefix("org.bluez.") ? 1 : 2
        }
        let ordered = interfaces.sorted { (rank($0.key), $0.key) < (rank($1.key), $1.key) }
        return .orderedDictionary(key: "s", value: "a{sv}", ordered.map { (.string($0.key), .options($0.value)) })
    }

    /// Calls a client's object, as the daemon does with agents, monitors and the like.
    func callClient(_ call: MethodCall) async -> MethodReply? {
        try? await session?.call(call, timeout: timeouts.call)
    }
}
