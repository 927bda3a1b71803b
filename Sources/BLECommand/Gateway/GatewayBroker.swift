import BLE

/// What a gateway needs of an MQTT broker.
protocol GatewayBroker: Sendable {
    /// The changes of the connection, in order. For one reader, with which the broker is first connected to.
    func events() -> AsyncStream<BrokerEvent>

    /// The messages. For one reader; the newest are dropped if it is too slow.
    func messages() -> AsyncStream<ReceivedMessage>

    /// Sends a message, or keeps it until there is a connection. Of retained messages of one topic, only the last is
    /// kept.
    func publish(_ message: GatewayMessage)

    /// Asks for the messages of topics, now and on each later connection.
    func subscribe(_ filters: [String]) async

    /// Sends what is kept, within some seconds, and ends the connection.
    func shutDown() async
}

enum BrokerEvent: Sendable {
    case connected
    /// The broker is not reached, or no longer. A new connection is tried by itself.
    case disconnected(reason: String)
    /// A message or a subscription is not possible.
    case refused(topic: String, reason: String)
}
