internal import BLE
internal import DBus
internal import Logging
internal import Loop

/// Collects facts about the bus and bluetoothd for ``Doctor``.
struct BusExamination {
    /// How long to retry a scan that is refused as busy. The kernel's own scan takes 10.24 s.
    private static let patience = Duration.seconds(12)

    /// The maximum time for each answer of the bus and bluetoothd.
    let timeout: Duration
    let clock: any Clock<Duration>

    func run(_ address: BusAddress, scans: Bool, _ facts: inout DoctorFacts) async {
        let session = BusSession(
            loop: EventLoop(name: "doctor"), logger: Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() },
            onSignal: { _ in }, onLoss: {})
        do throws(DBusError) {
            try await session.open(address, timeout: timeout)
        } catch {
            facts.bus = .unreachable(error.message)
            return
        }
        facts.bus = .reachable
        do throws(DBusError) {
            do throws(DBusError) {
                facts.adapters = try await adapters(session)
            } catch  where error.isServiceGone {
                // If bluetoothd stops during the call, there is no reply. A second call shows whether it is running.
                facts.adapters = try await adapters(session)
            }
            facts.daemon = .answers
        } catch {
            facts.daemon = Self.daemon(error)
        }
        for index in facts.adapters.indices { await look(session, scans: scans, &facts.adapters[index]) }
        await session.close()
    }

    /// Interprets the error of a call to bluetoothd.
    private static func daemon(_ error: DBusError) -> DoctorFacts.Daemon {
        switch error.name {
        case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.AuthFailed": .refused
        case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .absent
        default: .silent(error.message)
        }
    }

    // MARK: Objects

    private func adapters(_ session: BusSession) async throws(DBusError) -> [AdapterFacts] {
        let reply = try await session.call(
            MethodCall(BlueZ.service, "/", BlueZ.objectManager, "GetManagedObjects"), timeout: timeout)
        guard case .dictionary(_, _, let objects) = try reply.value() else {
            throw DBusError(.malformed, message: "the answer to GetManagedObjects is not a list of objects")
        }
        let paths = objects.compactMap { path, interfaces in
            interfaces[key: BlueZ.adapter] == nil ? nil : path.string
        }
        return BlueZ.inOrder(paths).map { path in
            var adapter = Self.adapter(path, objects[.objectPath(path)]!)
            adapter.links = objects.values.compactMap { Self.link($0, on: path) }.sorted { $0.address < $1.address }
            return adapter
        }
    }

    private static func adapter(_ path: String, _ interfaces: DBusValue) -> AdapterFacts {
        var facts = AdapterFacts(id: BlueZ.adapterID(path))
        if case .dictionary(_, _, let all) = interfaces { facts.interfaces = Set(all.keys.compactMap(\.string)) }
        let properties = interfaces[key: BlueZ.adapter]
        facts.isPowered = properties?[key: "Powered"]?.boolean ?? false
        facts.isDiscovering = properties?[key: "Discovering"]?.boolean ?? false
        facts.version = properties?[key: "Modalias"]?.string.flatMap { BlueZVersion(modalias: $0) }
        let advertising = interfaces[key: BlueZ.advertisingManager]
        facts.activeAdvertisements = advertising?[key: "ActiveInstances"]?.integer
        facts.freeAdvertisements = advertising?[key: "SupportedInstances"]?.integer
        return facts
    }

    private static func link(_ interfaces: DBusValue, on adapter: String) -> AdapterFacts.Link? {
        guard let device = interfaces[key: BlueZ.device], device[key: "Connected"]?.boolean == true,
            device[key: "Adapter"]?.string == adapter, let address = device[key: "Address"]?.string
        else { return nil }
        return AdapterFacts.Link(address: address, name: device[key: "Name"]?.string)
    }

    // MARK: Tests

    private func look(_ session: BusSession, scans: Bool, _ adapter: inout AdapterFacts) async {
        let path = "/org/bluez/\(adapter.id)"
        // Only an experimental bluetoothd has this method, from 5.49 to the current version.
        let introspection = try? await session.call(
            MethodCall(BlueZ.service, path, "org.freedesktop.DBus.Introspectable", "Introspect"),
            timeout: timeout)
        adapter.isExperimental = introspection?.values.first?.string?.contains(text: "\"ConnectDevice\"")
        if scans, adapter.isPowered { adapter.scan = await scan(session, path) }
    }

    private func scan(_ session: BusSession, _ path: String) async -> AdapterFacts.Scan {
        func ask(_ method: String, _ arguments: DBusValue...) async throws(DBusError) {
            _ = try await session.call(
                MethodCall(BlueZ.service, path, BlueZ.adapter, method, arguments), timeout: timeout)
        }
        var pauses = Backoff(every: .seconds(1)).pauses
        while true {
            do throws(DBusError) {
                try await ask("SetDiscoveryFilter", .options(["Transport": .string("le")]))
                try await ask("StartDiscovery")
                try? await ask("StopDiscovery")
                return .starts(after: pauses.waited)
            } catch {
                guard error.name == "org.bluez.Error.InProgress" else { return .fails("\(error)") }
                guard pauses.waited < Self.patience else { return .busy(for: pauses.waited) }
                guard await pauses.wait(clock) else { return .notTried }
            }
        }
    }
}
