package import BLEFakeBlueZ
package import BLETesting
package import DBus
internal import Logging
internal import Loop

/// An Avahi on a bus, with one group and one browser. It tells what it is asked.
package final class FakeAvahi: Sendable {
    /// A service that the network announces.
    package struct Service: Sendable {
        package var name: String
        /// 0: IPv4, 1: IPv6.
        package var family: Int32 = 0
        /// Nil if it does not answer when it is resolved.
        package var address: String?
        package var port: UInt16 = 6053
        package var texts: [String] = []

        package init(_ name: String, at address: String?, family: Int32 = 0, port: UInt16 = 6053, _ texts: [String]) {
            (self.name, self.address, self.family, self.port, self.texts) = (name, address, family, port, texts)
        }

        /// The arguments of the signals about it.
        fileprivate var item: [DBusValue] {
            [
                .int32(2), .int32(family), .string(name), .string("_esphomelib._tcp"), .string("local"), .uint32(0),
            ]
        }

        fileprivate var answer: [DBusValue]? {
            address.map { address in
                Array(item.dropLast()) + [
                    .string("\(name).local"), .int32(family), .string(address), .uint16(port),
                    .array(element: "ay", texts.map { .bytes(Array($0.utf8)) }), .uint32(0),
                ]
            }
        }
    }

    package let calls = SharedValue<[IncomingCall]>([])
    private let session: BusSession
    private static let (group, browser) = ("/Client1/EntryGroup1", "/Client1/ServiceBrowser1")

    /// - Parameters:
    ///   - taken: a name that another machine has. Empty for all names.
    ///   - states: those of a group that is committed: registering, established.
    ///   - services: what a browser finds.
    package init(
        _ bus: PrivateBus, taken: String? = nil, states: [Int32] = [1, 2], services: [Service] = []
    ) async throws {
        let session = BusSession(
            loop: EventLoop(name: "avahi"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onSignal: { _ in }, onLoss: {})
        self.session = session
        try await session.open(.address(bus.address), timeout: .seconds(600))
        let record: @Sendable (IncomingCall) -> Void = { [calls] call in calls.change { $0.append(call) } }
        let server = InterfaceDescription(
            "org.freedesktop.Avahi.Server", .method("EntryGroupNew", returns: "o"),
            .method("GetAlternativeServiceName", takes: "s", returns: "s"),
            .method("ServiceBrowserNew", takes: "iissu", returns: "o"),
            .method("ResolveService", takes: "iisssiu", returns: "iissssisqaayu"))
        _ = try await session.export(
            ExportedObject(path: "/", interface: server) { call in
                record(call)
                switch call.method {
                case "EntryGroupNew": return .success(MethodReply([.objectPath(Self.group)]))
                case "ServiceBrowserNew":
                    Task {
                        for service in services {
                            // Those of other browsers are not meant.
                            for path in ["/Client1/ServiceBrowser2", Self.browser] {
                                var service = service
                                if path != Self.browser { service.name = "other" }
                                try await Self.tell("ItemNew", service.item, of: path, to: call.sender, session)
                            }
                        }
                        try await Self.tell("AllForNow", [], of: Self.browser, to: call.sender, session)
                    }
                    return .success(MethodReply([.objectPath(Self.browser)]))
                case "ResolveService":
                    let service = services.first {
                        $0.name == call.arguments[2].string && Int($0.family) == call.arguments[1].integer
                    }
                    guard let answer = service?.answer else {
                        return .failure(.remote("org.freedesktop.Avahi.TimeoutError", "Timeout reached"))
                    }
                    return .success(MethodReply(answer))
                default:
                    return .success(MethodReply([.string("\(call.arguments[0].string ?? "")-2")]))
                }
            })
        let group = InterfaceDescription(
            "org.freedesktop.Avahi.EntryGroup", .method("AddService", takes: "iiussssqaay"), .method("Commit"),
            .method("Free"))
        _ = try await session.export(
            ExportedObject(path: Self.group, interface: group) { call in
                record(call)
                if call.method == "AddService", let taken, taken == "" || call.arguments[3].string == taken {
                    return .failure(.remote("org.freedesktop.Avahi.CollisionError", "taken"))
                }
                if call.method == "Commit" {
                    Task {
                        // Those of other groups are not meant.
                        try await Self.tell(4, of: "/Client1/EntryGroup2", to: call.sender, session)
                        for state in states { try await Self.tell(state, to: call.sender, session) }
                    }
                }
                return .success(MethodReply())
            })
        let name = DBusValue.string("org.freedesktop.Avahi")
        _ = try await session.call(.bus("RequestName", [name, .uint32(4)]), timeout: .seconds(600))
    }

    /// Says that another machine has the name of the group.
    package func collide() async throws { try await Self.tell(3, to: calls.value.last?.sender, session) }

    /// Says that the browser has failed.
    package func failBrowser() async throws {
        try await Self.tell(
            "Failure", [.string("no network")], of: Self.browser, to: calls.value.last?.sender, session)
    }

    private static func tell(
        _ state: Int32, of path: String = group, to client: String?, _ session: BusSession
    ) async throws {
        try await session.emit(
            path: path, interface: "org.freedesktop.Avahi.EntryGroup", signal: "StateChanged",
            [.int32(state), .string("")], to: client)
    }

    private static func tell(
        _ signal: String, _ arguments: [DBusValue], of path: String, to client: String?, _ session: BusSession
    ) async throws {
        try await session.emit(
            path: path, interface: "org.freedesktop.Avahi.ServiceBrowser", signal: signal, arguments, to: client)
    }

    package func stop() async { await session.close() }
}
