import Synchronization

@testable import BLECommand

/// A broker in memory that several gateways are connected to.
///
/// It delivers the messages of all topics to all subscribers in one order, those that it keeps to new subscribers, and
/// the will of a connection that is cut.
final class MemoryHub: Sendable {
    private struct State {
        var retained: [String: String] = [:]
        var connections: [String: Connection] = [:]
        var log: [(gateway: String, message: GatewayMessage)] = []
    }

    private let state = Mutex(State())

    /// The messages that a new subscriber would get.
    var retained: [String: String] { state.withLock { $0.retained } }
    /// All messages so far, with the gateways that have sent them.
    var log: [(gateway: String, message: GatewayMessage)] { state.withLock { $0.log } }

    /// Returns the connection of a gateway, which is not up yet.
    func broker(_ gateway: String) -> any GatewayBroker {
        let connection = Connection(self, gateway)
        state.withLock { $0.connections[gateway] = connection }
        return connection
    }

    /// Begins the connection of a gateway again.
    func connect(_ gateway: String) {
        guard let connection = state.withLock({ $0.connections[gateway] }) else { return }
        connection.setUp(true)
        for filter in connection.filters { deliverRetained(filter, to: connection) }
    }

    /// Cuts the connection of a gateway, whose will is published.
    func cut(_ gateway: String) {
        guard let connection = state.withLock({ $0.connections[gateway] }) else { return }
        connection.setUp(false)
        publish(GatewayMessage(topic: "ble/gateway/\(gateway)/state", payload: "offline"), of: gateway)
    }

    fileprivate func deliverRetained(_ filter: String, to connection: Connection) {
        connection.accept(filter)
        state.withLock { state in
            for (topic, payload) in state.retained.sorted(by: { $0.key < $1.key }) where filter.matches(topic) {
                connection.receive(
                    ReceivedMessage(topic: topic, payload: Array(payload.utf8), isRetained: true))
            }
        }
    }

    fileprivate func publish(_ message: GatewayMessage, of gateway: String) {
        state.withLock { state in
            state.log.append((gateway, message))
            if message.isRetained { state.retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
            for connection in state.connections.values
            where connection.filters.contains(where: { $0.matches(message.topic) }) {
                connection.receive(ReceivedMessage(topic: message.topic, payload: Array(message.payload.utf8)))
            }
        }
    }

    /// A command from another program.
    func command(_ text: String, to device: String) {
        publish(
            GatewayMessage(topic: "ble/device/\(device)/command", payload: text, isRetained: false),
            of: "another program")
    }

    /// The connection of one gateway.
    fileprivate final class Connection: GatewayBroker {
        private struct State {
            var filters: [String] = []
            var isUp = false
        }

        private unowned let hub: MemoryHub
        private let gateway: String
        private let state = Mutex(State())
        private let (changes, change) = AsyncStream.makeStream(of: BrokerEvent.self)

        init(_ hub: MemoryHub, _ gateway: String) { (self.hub, self.gateway) = (hub, gateway) }

        var filters: [String] { state.withLock { $0.filters } }

        func setUp(_ isUp: Bool) {
            state.withLock { $0.isUp = isUp }
            change.yield(isUp ? .connected : .disconnected(reason: "a test"))
        }

        func receive(_ message: ReceivedMessage) {
            if state.withLock({ $0.isUp }) { change.yield(.message(message)) }
        }

        func accept(_ filter: String) { change.yield(.subscribed(topic: filter)) }

        func events() -> AsyncStream<BrokerEvent> {
            hub.connect(gateway)
            return changes
        }

        func subscribe(_ filters: [String]) async {
            state.withLock { $0.filters += filters }
            guard state.withLock({ $0.isUp }) else { return }
            for filter in filters { hub.deliverRetained(filter, to: self) }
        }

        func unsubscribe(_ filters: [String]) async {
            state.withLock { $0.filters.removeAll(where: filters.contains) }
        }

        /// What is published without a connection is lost, as with a gateway of a fleet.
        func publish(_ message: GatewayMessage) {
            if state.withLock({ $0.isUp }) { hub.publish(message, of: gateway) }
        }

        func waitForTurn() async {}

        func shutDown() async { state.withLock { $0.isUp = false } }
    }
}

extension String {
    /// Whether a topic matches this filter, whose only wildcard is `+`.
    fileprivate func matches(_ topic: String) -> Bool {
        let (levels, parts) = (split(separator: "/"), topic.split(separator: "/"))
        return levels.count == parts.count && zip(levels, parts).allSatisfy { $0 == "+" || $0 == $1 }
    }
}
