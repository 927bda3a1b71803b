import BLEBlueZ
import BLESimulation
import DBus
import Synchronization

/// The daemon's clients. When a client leaves the bus, its scans, notifications and sockets end.
extension FakeBlueZ {
    /// The client of a name, from its first call on.
    func client(_ name: String) -> FakeClient {
        if let client = clients[name] { return client }
        let client = FakeClient()
        clients[name] = client
        return client
    }

    /// The number of clients that have called an object of an adapter, on all adapters.
    package var clientCount: Int {
        others.values.reduce(clients.count) { count, other in count + other.assumeIsolated { $0.clients.count } }
    }

    /// A signal of the bus: when a name has lost its owner, that client has left.
    nonisolated func heard(_ message: IncomingMessage) {
        if message.member == "PropertiesChanged" { return clientChanged(message) }
        // Anybody can send such a signal.
        guard message.member == "NameOwnerChanged", message.sender == "org.freedesktop.DBus" else { return }
        var body = message.body
        guard let name = try? body.string(), (try? body.string()) != nil, (try? body.string())?.isEmpty == true else {
            return
        }
        // At once, so that it precedes the calls that follow.
        Task.immediate { await self.end(name) }
    }

    /// A name has left the bus. Everything that its client has ends, here and on the other adapters.
    private func end(_ name: String) async {
        agents.removeAll { $0.owner == name }
        denied.withLock { $0.remove(name) }
        clients[name]?.hasLeft = true
        for other in others.values { await other.end(name) }
        guard let client = clients[name] else { return }
        await endServing(of: name)
        if !client.takeMonitors().isEmpty { await endUnusedScan() }
        if client.isDiscovering { await stopDiscovery(client) }
        for place in client.notifying {
            guard let path = attribute(place)?.path else { continue }
            try? await stopNotifying(place, path, name)
        }
        clients[name] = nil
    }
}
