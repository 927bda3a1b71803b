public import BLE
internal import DBus
internal import Logging
internal import Loop

extension FoundProxy {
    /// Searches the local network for devices that speak ESPHome's native API, with Avahi.
    ///
    /// Returns those whose address was resolved within the time, by name. One that leaves the network meanwhile is
    /// omitted. At most 256 announcements are followed at a time, of which a device has one for each interface of this
    /// machine, and for each version of IP.
    ///
    /// Throws `notSupported` if Avahi does not run, `failed` if it fails, and `cancelled`. Avahi has 10 s to begin.
    ///
    /// - Parameters:
    ///   - duration: how long to search. Devices answer within a second or two; those that save energy may need longer.
    ///   - bus: the bus that Avahi is on, in D-Bus's address notation; nil for the system bus.
    ///   - clock: measures the duration.
    public static func search(
        for duration: Duration = .seconds(5), bus: String? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) async throws(BLEError) -> [FoundProxy] {
        try await ProxySearch(bus: bus).run(for: duration, clock)
    }
}

/// The services that Avahi has reported, and what was resolved of them.
struct FoundServices {
    /// A service on one interface, over one protocol.
    struct Service: Hashable, Sendable {
        let interface: Int32
        let family: Int32
        let name: String
        let type: String
        let domain: String
    }

    /// The maximum number of services. A network may have any number, and further ones are ignored.
    static let limit = 256

    private var services: [Service: FoundProxy?] = [:]

    /// Adds a service. Returns whether it is to be resolved.
    mutating func add(_ service: Service) -> Bool {
        guard services[service] == nil, services.count < Self.limit else { return false }
        services[service] = .some(nil)
        return true
    }

    /// Removes a service that has gone.
    mutating func remove(_ service: Service) { services[service] = nil }

    /// Records what was resolved of a service, unless it has gone.
    mutating func resolve(_ service: Service, _ proxy: FoundProxy) {
        if services[service] != nil { services[service] = .some(proxy) }
    }

    private struct Device: Hashable {
        let name: String
        let mac: String?
    }

    /// The devices, by name. Of several addresses of a device, the most useful.
    var proxies: [FoundProxy] {
        var best: [Device: FoundProxy] = [:]
        for case let proxy? in services.values {
            let device = Device(name: proxy.name, mac: proxy.mac)
            if let other = best[device], (other.rank, other.address) <= (proxy.rank, proxy.address) { continue }
            best[device] = proxy
        }
        return best.values.sorted { ($0.name, $0.mac ?? "", $0.address) < ($1.name, $1.mac ?? "", $1.address) }
    }
}

/// A search with Avahi.
private actor ProxySearch {
    private enum Change: Sendable {
        case added(FoundServices.Service)
        case removed(FoundServices.Service)
        case failed(String)
    }

    private let address: BusAddress
    private let session: BusSession
    private let changes: BoundedStream<(browser: String, change: Change)>
    private var found = FoundServices()

    init(bus: String?) {
        address = bus.map { .address($0) } ?? .system
        let (changes, producer) = BoundedStream.make(
            of: (browser: String, change: Change).self, policy: .dropOldest(capacity: 4 * FoundServices.limit))
        self.changes = changes
        session = BusSession(
            loop: EventLoop(name: "search"), logger: Logger(label: "ble"), service: Avahi.service,
            onSignal: { signal in
                if let change = Self.change(signal) { producer.yield((signal.path.string, change)) }
            },
            onOwner: { if $0 == nil { producer.finish(throwing: Self.isMissing) } },
            onLoss: { producer.finish(throwing: Self.isMissing) })
    }

    private static let isMissing = BLEError(
        .notSupported, "the network cannot be searched, because Avahi does not run", isRetryable: true,
        remedy: "Start it (systemctl start avahi-daemon), or use the address of the proxy.")

    func run(for duration: Duration, _ clock: any Clock<Duration>) async throws(BLEError) -> [FoundProxy] {
        do {
            let browser = try await browse()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await clock.sleep(for: duration) }
                group.addTask { try await self.collect(browser) }
                defer { group.cancelAll() }
                try await group.next()
            }
        } catch {
            await session.close()
            throw Self.error(error)
        }
        // The browser ends with the connection.
        await session.close()
        return found.proxies
    }

    private static func error(_ error: any Error) -> BLEError {
        guard !Task.isCancelled, !(error is CancellationError) else { return .cancelled }
        if let error = error as? BLEError { return error }
        guard let error = error as? DBusError else { return BLEError(.failed, "\(error)") }
        switch error.kind {
        case .cancelled: return .cancelled
        case .unreachable, .disconnected: return isMissing
        default: return error.isServiceGone ? isMissing : BLEError(.failed, "Avahi: \(error.message)", cause: error)
        }
    }

    /// Has Avahi report the services. Returns the path of its reports.
    private func browse() async throws -> String {
        try await session.open(address, timeout: Avahi.timeout)
        guard try await session.askOwner(timeout: Avahi.timeout) != nil else { throw Self.isMissing }
        let call = Avahi.call(
            "/", "Server", "ServiceBrowserNew",
            [
                .int32(Avahi.unspecified), .int32(Avahi.unspecified), .string(Avahi.serviceType), .string(""),
                .uint32(0),
            ])
        guard let path = try await session.call(call, timeout: Avahi.timeout).value().string else {
            throw DBusError(.malformed, message: "it gave no browser")
        }
        return path
    }

    /// Follows the reports, and resolves what they name, until the task is cancelled or Avahi fails.
    private func collect(_ browser: String) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for try await (path, change) in changes where path == browser {
                switch change {
                case .added(let service):
                    if found.add(service) { group.addTask { await self.resolve(service) } }
                case .removed(let service): found.remove(service)
                case .failed(let reason): throw BLEError(.failed, "Avahi: \(reason)")
                }
            }
        }
    }

    /// Resolves a service. One that does not answer is not found.
    private func resolve(_ service: FoundServices.Service) async {
        var call = Avahi.call(
            "/", "Server", "ResolveService",
            [
                .int32(service.interface), .int32(service.family), .string(service.name), .string(service.type),
                // Not that of the other family, which another service has.
                .string(service.domain), .int32(service.family), .uint32(0),
            ])
        // Avahi asks the network. One that does not answer must not delay the others.
        (call.pace, call.object) = (.slow, "\(service)")
        guard let answer = try? await session.call(call, timeout: Avahi.timeout), let proxy = FoundProxy(answer.values)
        else {
            // Its place is free for others.
            return found.remove(service)
        }
        found.resolve(service, proxy)
    }

    /// The change that a signal of a browser reports. Nil for others.
    private static func change(_ signal: IncomingMessage) -> Change? {
        guard signal.interface == "org.freedesktop.Avahi.ServiceBrowser" else { return nil }
        var body = signal.body
        if signal.member == "Failure" { return (try? body.string()).map { .failed($0) } }
        let isAdded = signal.member == "ItemNew"
        guard isAdded || signal.member == "ItemRemove" else { return nil }
        do {
            let service = FoundServices.Service(
                interface: try body.int32(), family: try body.int32(), name: try body.string(),
                type: try body.string(), domain: try body.string())
            return isAdded ? .added(service) : .removed(service)
        } catch {
            return nil
        }
    }
}
