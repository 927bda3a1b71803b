import BLETesting
import Synchronization

@testable import BLECommand

/// A broker in memory, with what a real one keeps.
final class MemoryBroker: GatewayBroker {
    private struct State {
        var retained: [String: String] = [:]
        var log: [GatewayMessage] = []
        var filters: [String] = []
        var isAskedForEvents = false
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let stream: AsyncStream<BrokerEvent>
    private let continuation: AsyncStream<BrokerEvent>.Continuation

    private let onPublish: @Sendable (GatewayMessage) -> Void
    /// Whether the client has no turns.
    let isHanging = SharedValue(false)

    /// - Parameter onPublish: called with each message, on the thread that publishes it.
    init(onPublish: @escaping @Sendable (GatewayMessage) -> Void = { _ in }) {
        (stream, continuation) = AsyncStream.makeStream()
        self.onPublish = onPublish
    }

    /// The messages that a new subscriber would get.
    var retained: [String: String] { state.withLock { $0.retained } }
    /// All messages so far.
    var log: [GatewayMessage] { state.withLock { $0.log } }
    var filters: [String] { state.withLock { $0.filters } }
    var isAskedForEvents: Bool { state.withLock { $0.isAskedForEvents } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func clear() { state.withLock { $0.log = [] } }
    func send(_ event: BrokerEvent) { continuation.yield(event) }
    func send(_ message: ReceivedMessage) { continuation.yield(.message(message)) }

    func events() -> AsyncStream<BrokerEvent> {
        state.withLock { $0.isAskedForEvents = true }
        return stream
    }
    func subscribe(_ filters: [String]) async {
        state.withLock { $0.filters += filters }
        for filter in filters { continuation.yield(.subscribed(topic: filter)) }
    }
    func unsubscribe(_ filters: [String]) async { state.withLock { $0.filters.removeAll(where: filters.contains) } }
    func waitForTurn() async { try? await isHanging.until { !$0 } }
    func shutDown() async { state.withLock { $0.hasEnded = true } }
    func publish(_ message: GatewayMessage) {
        onPublish(message)
        state.withLock { state in
            state.log.append(message)
            if message.isRetained { state.retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
        }
    }
}
