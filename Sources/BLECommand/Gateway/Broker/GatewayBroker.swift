import BLE

/// What a gateway needs of an MQTT broker.
protocol GatewayBroker: Sendable {
    /// The changes of the connection and the messages, in order. For one reader, with which the broker is first
    /// connected to. What is dropped because the reader is too slow, the broker sends again on another connection.
    func events() -> AsyncStream<BrokerEvent>

    /// Sends a message, or keeps it until there is a connection. Of retained messages of one topic, only the last is
    /// kept.
    func publish(_ message: GatewayMessage)

    /// Asks for the messages of topics, now and on each later connection.
    func subscribe(_ filters: [String]) async

    /// Ends subscriptions.
    func unsubscribe(_ filters: [String]) async

    /// Returns once the client has begun to do something else than before. One that hangs does not.
    func waitForTurn() async

    /// Sends what is kept, within some seconds, and ends the connection.
    func shutDown() async
}

enum BrokerEvent: Sendable {
    case connected
    /// The broker is not reached, or no longer. A new connection is tried by itself.
    case disconnected(reason: String)
    case message(ReceivedMessage)
    /// The broker has accepted a subscription on this connection; what it keeps for the topic follows.
    case subscribed(topic: String)
    /// A subscription is not possible.
    case refused(reason: String)
}
