internal import Loop
internal import Synchronization

/// The objects that a connection serves, with the interfaces that every object has: Properties, Introspectable, and
/// `Ping` of Peer.
///
/// Safe to share because it is used only on the loop's thread, except for what is protected by the mutex.
final class ServedObjects: @unchecked Sendable {
    private struct Export {
        let id: UInt32
        let object: ExportedObject
    }

    private let tasks: LoopTaskExecutor
    private var lastID: UInt32 = 0
    /// By path, in the order in which they were added.
    private var exports: [String: [Export]] = [:]
    private var paths: [UInt32: String] = [:]
    /// The paths of all, for another thread.
    private let servedPaths = Mutex<Set<String>>([])

    private let refusals: CallRefusals

    init(_ loop: EventLoop, _ refusals: CallRefusals) {
        tasks = LoopTaskExecutor(loop)
        self.refusals = refusals
    }

    /// Serves one interface of an object until the returned number is passed to ``remove(_:)``. Throws if the object's
    /// interface is already served.
    func add(_ object: ExportedObject) throws(DBusError) -> UInt32 {
        guard interface(object.interface.name, at: object.path) == nil else {
            throw DBusError(
                .malformed, message: "\(object.interface.name) is already served at \(object.path)")
        }
        lastID += 1
        exports[object.path, default: []].append(Export(id: lastID, object: object))
        paths[lastID] = object.path
        servedPaths.withLock { _ = $0.insert(object.path) }
        return lastID
    }

    func remove(_ id: UInt32) {
        guard let path = paths.removeValue(forKey: id) else { return }
        exports[path]?.removeAll { $0.id == id }
        guard exports[path]?.isEmpty == true else { return }
        exports[path] = nil
        servedPaths.withLock { _ = $0.remove(path) }
    }

    /// Whether an object is served at a path. May be called from any thread.
    func serves(_ path: String) -> Bool { servedPaths.withLock { $0.contains(path) } }

    func removeAll() {
        exports = [:]
        paths = [:]
        servedPaths.withLock { $0 = [] }
    }

    private func interface(_ name: String, at path: String) -> ExportedObject? {
        exports[path]?.first { $0.object.interface.name == name }?.object
    }

    // MARK: Calls

    /// What to do with a call.
    private enum Answer {
        case now(MethodReply)
        /// Run the object's handler.
        case later(ExportedObject.Handler)
    }

    /// Answers a call, at once or when its handler has returned. No served method takes descriptors.
    ///
    /// - Parameter isAdmitted: whether the caller may call the served objects. Other callers learn nothing about them.
    func answer(_ message: IncomingMessage, isAdmitted: Bool, over output: MessageOutput) {
        let caller = OutgoingMessage.Caller(of: message)
        do throws(DBusError) {
            guard isAdmitted else { throw Self.notForYou }
            switch try answer(message) {
            case .now(let reply): Self.send(.success(reply), to: caller, over: output)
            case .later(let handler):
                // Calls reach an actor in the order of their arrival. The task returns to the loop as soon as there is
                // an answer, so that the answer stays in order with what the actor sends.
                Task.immediate(executorPreference: tasks) {
                    Self.send(await handler(), to: caller, over: output)
                }
            }
        } catch {
            Self.send(.failure(error), to: caller, over: output)
        }
    }

    private static func send(
        _ result: Result<MethodReply, DBusError>, to caller: OutgoingMessage.Caller, over output: MessageOutput
    ) {
        do throws(DBusError) {
            let reply = try result.get()
            try output.check(reply.descriptors)
            var bytes: [UInt8] = []
            for signal in reply.signals {
                bytes += try OutgoingMessage.signal(signal, serial: output.nextSerial())
            }
            if !caller.wantsNoReply {
                let answer = try OutgoingMessage.answer(reply, to: caller, serial: output.nextSerial())
                guard reply.descriptors.isEmpty else {
                    // A message with descriptors is sent by itself.
                    output.send(bytes)
                    output.send(answer, reply.descriptors)
                    return
                }
                bytes += answer
            }
            // Sent together, so that no other message comes between them.
            output.send(bytes)
        } catch {
            guard !caller.wantsNoReply else { return }
            let name = error.name.isEmpty ? "org.freedesktop.DBus.Error.Failed" : error.name
            for (name, text) in [(name, error.message), ("org.freedesktop.DBus.Error.Failed", "")] {
                guard let answer = try? OutgoingMessage.error(name, text, to: caller, serial: output.nextSerial())
                else { continue }
                output.send(answer)
                return
            }
        }
    }

    private func answer(_ message: IncomingMessage) throws(DBusError) -> Answer {
        if let denial = refusals.denial?(message.sender.string) {
            let call = CallRefusals.Call(message)
            return .later { .failure(await denial(call)) }
        }
        let (interface, member) = (message.interface.string, message.member.string)
        if interface == "org.freedesktop.DBus.Peer", member == "Ping" {
            try check(message, takes: "")
            return .now(MethodReply())
        }
        let path = message.path.string
        let objects = exports[path]?.map(\.object) ?? []
        let named = objects.filter { interface.isEmpty || $0.interface.name == interface }
        guard let object = named.first(where: { $0.interface.takes(member) != nil }) else {
            return try standard(interface, member, message, path, objects)
        }
        try check(message, takes: object.interface.takes(member) ?? "")
        return .later(object.receive(try Self.call(message)))
    }

    private static func call(_ message: IncomingMessage) throws(DBusError) -> IncomingCall {
        var (body, arguments) = (message.body, [DBusValue]())
        while !body.isAtEnd { arguments.append(try body.value()) }
        return IncomingCall(
            sender: message.sender.string, path: message.path.string, method: message.member.string,
            arguments: arguments)
    }

    /// Throws if the arguments of a call have other types.
    private func check(_ message: IncomingMessage, takes signature: String) throws(DBusError) {
        guard MessageString(message.body.types) == signature else { throw refusal(.method(takes: signature), message) }
    }

    private func refusal(_ reason: CallRefusals.Reason, _ message: IncomingMessage) -> DBusError {
        refusals.error(reason, CallRefusals.Call(message)) {
            let path = message.path.string
            return exports[path] != nil || !children(of: path).isEmpty
        }
    }

    // MARK: Standard interfaces

    private func standard(
        _ interface: String, _ member: String, _ message: IncomingMessage, _ path: String, _ objects: [ExportedObject]
    ) throws(DBusError) -> Answer {
        switch (interface, member) {
        case ("org.freedesktop.DBus.Introspectable", "Introspect"):
            try check(message, takes: "")
            let children = children(of: path)
            guard !objects.isEmpty || !children.isEmpty else { throw refusal(.method(takes: nil), message) }
            return .now(MethodReply([.string(Self.introspection(objects, children))]))
        case ("org.freedesktop.DBus.Properties", "Get"):
            try check(message, takes: "ss")
            let call = try Self.call(message)
            let object = try find(call.arguments[0].string ?? "", objects, message)
            let name = call.arguments[1].string ?? ""
            guard let value = object.interface.property(name) == nil ? nil : object.property(name) else {
                throw refusal(.property(name, isSet: false), message)
            }
            return .now(MethodReply([.variant(value)]))
        case ("org.freedesktop.DBus.Properties", "GetAll"):
            try check(message, takes: "s")
            let object = try find(try Self.call(message).arguments[0].string ?? "", objects, message)
            return .now(MethodReply([object.interface.properties(object.property)]))
        case ("org.freedesktop.DBus.Properties", "Set"):
            try check(message, takes: "ssv")
            let call = try Self.call(message)
            let object = try find(call.arguments[0].string ?? "", objects, message)
            let name = call.arguments[1].string ?? ""
            guard let isWritable = object.interface.property(name) else {
                throw refusal(.property(name, isSet: true), message)
            }
            guard isWritable else { throw refusal(.readOnlyProperty(name), message) }
            return .later(object.receive(call))
        default:
            throw refusal(.method(takes: nil), message)
        }
    }

    private func find(
        _ interface: String, _ objects: [ExportedObject], _ message: IncomingMessage
    ) throws(DBusError) -> ExportedObject {
        guard let object = objects.first(where: { $0.interface.name == interface }) else {
            throw refusal(.interface(interface, isObject: !objects.isEmpty), message)
        }
        return object
    }

    /// The next elements of the paths of the served objects below a path.
    private func children(of path: String) -> [String] {
        let prefix = path == "/" ? path : path + "/"
        let names = exports.keys.filter { $0.hasPrefix(prefix) && $0 != path }
            .map { String($0.dropFirst(prefix.count).prefix { $0 != "/" }) }
        return Set(names).sorted()
    }

    /// Returns an object in D-Bus's introspection notation.
    private static func introspection(_ objects: [ExportedObject], _ children: [String]) -> String {
        "<node>\(objects.map(\.interface.xml).joined())\(children.map { "<node name=\"\($0)\"/>" }.joined())</node>"
    }

    private static let notForYou = DBusError.remote(
        "org.freedesktop.DBus.Error.AccessDenied", "only the service that this object is for may call it")
}
