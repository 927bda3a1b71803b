/// A tree of objects served on the bus, with the standard D-Bus interfaces.
///
/// The root is an `org.freedesktop.DBus.ObjectManager`. Each object below it has any number of interfaces.
/// `GetManagedObjects` lists objects, interfaces and properties in the order in which they were added and declared,
/// because clients such as bluetoothd may rely on it. Additions, removals and changes are signaled as the D-Bus
/// specification requires.
package actor ObjectServer {
    /// An interface of a served object.
    package struct Interface: Sendable {
        let description: InterfaceDescription
        let receive: @Sendable (IncomingCall) -> ExportedObject.Handler
        let property: @Sendable (String) -> DBusValue?

        /// - Parameters:
        ///   - property: returns the value of a property, or nil to omit the property. Called on the session's loop.
        ///   - handle: answers a call. Each call runs in its own task.
        package init(
            _ description: InterfaceDescription, property: @escaping @Sendable (String) -> DBusValue? = { _ in nil },
            handle: @escaping @Sendable (IncomingCall) async -> Result<MethodReply, DBusError> = { call in
                .failure(.remote("org.freedesktop.DBus.Error.UnknownMethod", "no method \(call.method)"))
            }
        ) {
            self.init(description, property: property, receive: { call in { await handle(call) } })
        }

        /// - Parameters:
        ///   - property: returns the value of a property, or nil to omit the property. Called on the session's loop.
        ///   - receive: receives a call on the session's loop, in order with the received signals, and returns a
        ///     function that answers it in a task of its own.
        package init(
            _ description: InterfaceDescription, property: @escaping @Sendable (String) -> DBusValue?,
            receive: @escaping @Sendable (IncomingCall) -> ExportedObject.Handler
        ) {
            (self.description, self.property, self.receive) = (description, property, receive)
        }

        fileprivate var properties: DBusValue { description.properties(property) }
    }

    private struct Object {
        /// Its place in the order of additions, which is unique.
        let number: Int
        let path: String
        let interfaces: [Interface]
        var exports: [UInt32] = []

        /// The interfaces with their properties, `a{sa{sv}}`.
        var properties: DBusValue {
            .orderedDictionary(
                key: "s", value: "a{sv}", interfaces.map { (.string($0.description.name), $0.properties) })
        }
    }

    private static let managerName = "org.freedesktop.DBus.ObjectManager"
    private static let manager = InterfaceDescription(
        managerName, .method("GetManagedObjects", returns: "a{oa{sa{sv}}}"),
        .signal("InterfacesAdded", carries: "oa{sa{sv}}"), .signal("InterfacesRemoved", carries: "oas"))

    private let session: BusSession
    private let root: String
    /// The objects, in the order of their numbers.
    private var objects: [Object] = []
    private var numbers: [String: Int] = [:]
    private var lastNumber = 0
    private var managerExport: UInt32?
    private var isStopped = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { session.unownedExecutor }

    /// - Parameter root: the path of the object manager, such as `/org/example/app`. Objects are below it.
    package init(_ session: BusSession, root: String) {
        self.session = session
        self.root = root
    }

    /// Starts serving the tree. Throws if its root is already served.
    package func start() async throws(DBusError) {
        managerExport = try await session.export(
            ExportedObject(path: root, interface: Self.manager) { [weak self] _ in
                .success(MethodReply([await self?.managedObjects ?? Self.objectList([])]))
            })
    }

    private var managedObjects: DBusValue { Self.objectList(objects) }

    private static func objectList(_ objects: [Object]) -> DBusValue {
        .orderedDictionary(
            key: "o", value: "a{sa{sv}}", objects.map { (.objectPath($0.path), $0.properties) })
    }

    /// Returns the position of the object at a path.
    private func index(_ path: String) -> Int? {
        guard let number = numbers[path] else { return nil }
        var (low, high) = (0, objects.count)
        while low < high {
            let middle = (low + high) / 2
            if objects[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private func take(_ path: String) -> Object? {
        guard let index = index(path) else { return nil }
        numbers[path] = nil
        return objects.remove(at: index)
    }

    /// Serves an object, listed after those added earlier. Throws if an object is already served at its path, and
    /// `.cancelled` in a cancelled task.
    ///
    /// - Parameter path: a path below the root, or the root itself.
    package func add(_ path: String, _ interfaces: [Interface]) async throws(DBusError) {
        precondition(path == root || path.hasPrefix(root == "/" ? root : root + "/"), "\(path) is not below \(root)")
        if isStopped { throw DBusError(.disconnected, message: "the object server has stopped") }
        if Task.isCancelled { throw .cancelled }
        guard numbers[path] == nil else { throw DBusError(.malformed, message: "\(path) is already served") }
        lastNumber += 1
        var object = Object(number: lastNumber, path: path, interfaces: interfaces)
        // Reserves the object's place before the first suspension.
        objects.append(object)
        numbers[path] = lastNumber
        do throws(DBusError) {
            for interface in interfaces {
                let exported = ExportedObject(
                    path: path, interface: interface.description, receive: interface.receive,
                    property: interface.property)
                object.exports.append(try await session.export(exported))
            }
        } catch {
            if numbers[path] == object.number { _ = take(path) }
            for export in object.exports { await session.unexport(export) }
            throw error
        }
        guard numbers[path] == object.number, let index = index(path) else {
            // The object was removed, or the server stopped, in the meantime.
            for export in object.exports { await session.unexport(export) }
            return
        }
        objects[index] = object
        if managerExport != nil { try await signal("InterfacesAdded", [.objectPath(path), object.properties]) }
    }

    /// Stops serving an object. Does nothing if there is none.
    package func remove(_ path: String) async throws(DBusError) {
        guard let object = take(path) else { return }
        for export in object.exports { await session.unexport(export) }
        try await signal(
            "InterfacesRemoved", [.objectPath(path), .strings(object.interfaces.map(\.description.name))])
    }

    /// Signals that properties of an object have changed, with their new values.
    package func propertiesChanged(
        _ path: String, _ interface: String, _ names: [String]
    ) async throws(DBusError) {
        guard
            let served = index(path).flatMap({ index in
                objects[index].interfaces.first { $0.description.name == interface }
            })
        else { return }
        let values = names.compactMap { name in served.property(name).map { (name, $0) } }
        try await session.emit(
            path: path, interface: "org.freedesktop.DBus.Properties", signal: "PropertiesChanged",
            [
                .string(interface), .options(Dictionary(values) { $1 }),
                .strings(names.filter { served.property($0) == nil }),
            ])
    }

    /// Stops serving the tree without emitting signals.
    package func stop() async {
        isStopped = true
        let exports = objects.flatMap(\.exports) + [managerExport].compactMap(\.self)
        (objects, numbers) = ([], [:])
        managerExport = nil
        for export in exports { await session.unexport(export) }
    }

    private func signal(_ name: String, _ arguments: [DBusValue]) async throws(DBusError) {
        guard managerExport != nil else { return }
        try await session.emit(path: root, interface: Self.managerName, signal: name, arguments)
    }
}
