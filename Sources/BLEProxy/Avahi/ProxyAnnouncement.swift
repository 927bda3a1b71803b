internal import BLE
internal import BLEESPHome
internal import DBus
public import Logging
internal import Loop

/// Announces a proxy in the local network, through Avahi, so that Home Assistant finds it.
///
/// Without Avahi, nothing is announced: clients then need the address of the proxy.
public actor ProxyAnnouncement {
    /// Whether a proxy is announced.
    public enum State: Hashable, Sendable {
        /// It is announced under this name, which Avahi changes if another machine has it.
        case announced(String)
        /// It is not announced at present.
        case unavailable(reason: String)
    }

    /// What has changed since the announcement.
    private enum Change: Sendable {
        case owner(isPresent: Bool)
        /// Avahi's server runs, again or with another host name.
        case serverRuns
        /// The state of a group.
        case group(String, GroupState)
        case busLost
    }

    /// Avahi's numbers of a group's states.
    private enum GroupState: Int32 {
        case established = 2
        /// Another machine has the name.
        case collision = 3
        case failure = 4
    }

    /// The pause before a bus that is not reached, or an Avahi that refuses, is tried again.
    private static let pause = Duration.seconds(30)
    /// The number of other names that are tried.
    private static let maximumNames = 16

    private let configuration: ProxyServer.Configuration
    private let bus: BusAddress
    private let logger: Logger
    private let report: @Sendable (State) -> Void
    private var reported: State?
    private let loop = EventLoop(name: "announcement")

    /// - Parameters:
    ///   - bus: the bus that Avahi is on, in D-Bus's address notation; nil for the system bus.
    ///   - report: called with each change.
    public init(
        _ configuration: ProxyServer.Configuration, bus: String? = nil, logger: Logger? = nil,
        report: @escaping @Sendable (State) -> Void
    ) {
        (self.configuration, self.bus) = (configuration, bus.map { .address($0) } ?? .system)
        (self.logger, self.report) = (logger ?? Logger(label: "ble"), report)
    }

    /// Announces the proxy until the task is cancelled, again whenever Avahi or the bus has restarted.
    ///
    /// - Parameters:
    ///   - host: the address at which the proxy listens, as numbers: it is announced for the protocol and the network
    ///     of that address. `0.0.0.0` is for IPv4 alone.
    ///   - port: the port at which it listens.
    public func run(host: String = "0.0.0.0", port: UInt16) async {
        let place = TCP.place(of: host)
        while !Task.isCancelled {
            let (changes, producer) = BoundedStream.make(of: Change.self, policy: .dropOldest(capacity: 64))
            let session = BusSession(
                loop: loop, logger: logger, service: Avahi.service,
                onSignal: { signal in if let change = Self.change(signal) { producer.yield(change) } },
                onOwner: { producer.yield(.owner(isPresent: $0 != nil)) }, onLoss: { producer.yield(.busLost) })
            do {
                try await announce(port, place, session, changes)
            } catch let error as DBusError {
                set(.unavailable(reason: error.message))
            } catch {
                // The task is cancelled.
            }
            // What was announced ends with the connection.
            await session.close()
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func set(_ state: State) {
        guard state != reported, !Task.isCancelled else { return }
        reported = state
        report(state)
    }

    /// Announces, and again after each change. Returns when the bus is lost.
    private func announce(
        _ port: UInt16, _ place: TCP.Place, _ session: BusSession, _ changes: BoundedStream<Change>
    ) async throws {
        try await session.open(bus, timeout: Avahi.timeout)
        try await session.listen(
            "type='signal',sender='\(Avahi.service)',interface='\(Avahi.service).Server',member='StateChanged'",
            timeout: Avahi.timeout)
        var name = configuration.name
        var isPresent = try await session.askOwner(timeout: Avahi.timeout) != nil
        var group: String?
        var next = changes.makeAsyncIterator()
        while true {
            if let old = group {
                _ = try? await session.call(Avahi.call(old, "EntryGroup", "Free"), timeout: Avahi.timeout)
            }
            group = nil
            if isPresent {
                do throws(DBusError) {
                    group = try await add(&name, port, place, session)
                } catch {
                    // Its end is a change of its own.
                    guard error.isServiceGone else { throw error }
                }
            } else {
                set(.unavailable(reason: "Avahi does not run"))
            }
            addition: while true {
                guard let change = try await next.next() else { return }
                switch change {
                case .owner(let now):
                    isPresent = now
                    group = nil
                    break addition
                case .serverRuns: break addition
                case .group(let path, let state):
                    // It may be that of a former group.
                    guard path == group else { continue }
                    switch state {
                    case .established: set(.announced(name))
                    case .collision:
                        name = try await alternative(to: name, session)
                        break addition
                    case .failure: throw DBusError(.malformed, message: "Avahi could not announce the proxy")
                    }
                case .busLost: return set(.unavailable(reason: "the bus has stopped"))
                }
            }
        }
    }

    /// Adds the service, and returns the path of its group.
    private func add(
        _ name: inout String, _ port: UInt16, _ place: TCP.Place, _ session: BusSession
    ) async throws(DBusError) -> String {
        let reply = try await session.call(Avahi.call("/", "Server", "EntryGroupNew"), timeout: Avahi.timeout)
        guard let group = try reply.value().string else { throw DBusError(.malformed, message: "Avahi gave no group") }
        for _ in 0..<Self.maximumNames {
            do throws(DBusError) {
                let arguments: [DBusValue] = [
                    .int32(place.interface), .int32(place.family), .uint32(0), .string(name),
                    .string(Avahi.serviceType), .string(""), .string(""), .uint16(port),
                    .array(element: "ay", texts.map { .bytes(Array($0.utf8)) }),
                ]
                _ = try await session.call(
                    Avahi.call(group, "EntryGroup", "AddService", arguments), timeout: Avahi.timeout)
                _ = try await session.call(Avahi.call(group, "EntryGroup", "Commit"), timeout: Avahi.timeout)
                return group
            } catch {
                guard error.name == "\(Avahi.service).CollisionError" else { throw error }
                name = try await alternative(to: name, session)
            }
        }
        throw DBusError(.malformed, message: "other machines have the last \(Self.maximumNames) names that were tried")
    }

    private func alternative(to name: String, _ session: BusSession) async throws(DBusError) -> String {
        let call = Avahi.call("/", "Server", "GetAlternativeServiceName", [.string(name)])
        guard let other = try await session.call(call, timeout: Avahi.timeout).value().string else {
            throw DBusError(.malformed, message: "Avahi gave no other name")
        }
        return other
    }

    /// What Home Assistant reads of a proxy before it connects.
    private var texts: [String] {
        let info = ProxyServer.info(configuration)
        var texts = [
            "mac=\(configuration.hexadecimalAddress)", "version=\(info.version)", "friendly_name=\(info.friendlyName)",
            "platform=HOST", "board=host", "network=ethernet", "project_name=\(info.projectName)",
            "project_version=\(info.projectVersion)",
        ]
        if configuration.key != nil { texts.append("api_encryption=\(Avahi.encryption)") }
        return texts
    }

    /// The change that a signal of Avahi reports. Nil for others.
    private static func change(_ signal: IncomingMessage) -> Change? {
        guard signal.member == "StateChanged" else { return nil }
        var body = signal.body
        guard let state = try? body.int32() else { return nil }
        if signal.interface == "org.freedesktop.Avahi.Server" { return state == 2 ? .serverRuns : nil }
        guard signal.interface == "org.freedesktop.Avahi.EntryGroup" else { return nil }
        return GroupState(rawValue: state).map { .group(signal.path.string, $0) }
    }
}
