internal import Synchronization

/// The agents of a central's radios on one bus, one for each adapter. They run on one thread.
///
/// A connection to the bus has one agent, and each radio has a connection. bluetoothd asks the agent of the connection
/// that has called `Pair`. For other pairings, such as those that a read or a peripheral begins, it asks the system's
/// default agent, which may be that of any radio: it leaves the answer to the agent of the device's adapter.
final class BlueZAgents: Sendable {
    private let agents = Mutex<[@Sendable () -> BlueZAgent?]>([])

    /// Adds an agent, as long as it is used elsewhere.
    func add(_ agent: BlueZAgent) {
        agents.withLock { agents in
            agents.removeAll { $0() == nil }
            agents.append { [weak agent] in agent }
        }
    }

    var all: [BlueZAgent] { agents.withLock(\.self).compactMap { $0() } }
}
