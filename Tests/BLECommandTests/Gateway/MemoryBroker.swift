import Synchronization

@testable import BLECommand

/// A broker in memory, with what a real one keeps.
final class MemoryBroker: GatewayBroker {
    private struct State {
        var retained: [String: String] = [:]
        var log: [GatewayMessage] = []
        var filters: [String] = []
        var hasEnded = false
    }

    private let state = Mutex(State())
    private let stream: AsyncStream<BrokerEvent>
    private let continuation: AsyncStream<BrokerEvent>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    /// The messages that a new subscriber would get.
    var retained: [String: String] { state.withLock { $0.retained } }
    /// All messages so far.
    var log: [GatewayMessage] { state.withLock { $0.log } }
    var filters: [String] { state.withLock { $0.filters } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func clear() { state.withLock { $0.log = [] } }
    func send(_ event: BrokerEvent) { continuation.yield(event) }
    func send(_ message: ReceivedMessage) { continuation.yield(.message(message)) }

    func events() -> AsyncStream<BrokerEvent> { stream }
    func subscribe(_ filters: [String]) async { state.withLock { $0.filters += filters } }
    func unsubscribe(_ filters: [String]) async { state.withLock { $0.filters.removeAll(where: filters.contains) } }
    func shutDown() async { state.withLock { $0.hasEnded = true } }
    func publish(_ message: GatewayMessage) {
        state.withLock { state in
            state.log.append(message)
            if message.isRetained { state.retained[message.topic] = message.payload.isEmpty ? nil : message.payload }
        }
    }
}
