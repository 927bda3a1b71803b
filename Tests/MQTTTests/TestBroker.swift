#if Gateway
    import BLE
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Logging
    import Loop
    import MQTT
    import Subprocess
    import Testing

    extension TestBroker {
        var address: MQTTClient.Broker {
            port.map { .tcp(host: "localhost", port: $0) } ?? .unix(path: path("socket"))
        }
    }

    extension MQTTClient {
        static func make(
            _ broker: Broker, clock: (any Clock<Duration>)? = nil,
            logger: Logger = Logger(label: "mqtt") { _ in SwiftLogNoOpLogHandler() },
            _ change: (inout Configuration) -> Void = { _ in }
        ) throws -> MQTTClient {
            var configuration = Configuration(broker, clientID: "test-\(UInt64.random(in: 0 ... .max))")
            // Tests with a clock of their own decide when it passes.
            configuration.backoff = Backoff(every: .milliseconds(10))
            change(&configuration)
            return try MQTTClient(configuration, on: EventLoop(name: "mqtt"), clock: clock, logger: logger)
        }

        /// Returns the first state that is as wanted, from now on.
        @discardableResult func reach(_ isWanted: (State) -> Bool) async throws -> State {
            for try await state in states() where isWanted(state) { return state }
            throw MQTTError(.shutDown, "the states ended")
        }

        func reachConnected() async throws { try await reach(\.isConnected) }
        func reachError() async throws -> MQTTError? { try await reach { $0.error != nil }.error }
    }

    extension MQTTClient.State {
        var isConnected: Bool { if case .connected = self { true } else { false } }
        var error: MQTTError? { if case .disconnected(let error, _) = self { error } else { nil } }
        var pause: Duration? { if case .disconnected(_, let pause) = self { pause } else { nil } }
    }

    extension MQTTMessage {
        init(_ topic: String, text: String, qos: QoS = .atLeastOnce, retain: Bool = false) {
            self.init(topic, Array(text.utf8), qos: qos, retain: retain)
        }

        var text: String { String(decoding: payload, as: UTF8.self) }
    }

    /// A reader of a subscription, with an iterator for all its messages.
    final class MessageReader {
        private let stream: BoundedStream<MQTTMessage>
        private var iterator: BoundedStream<MQTTMessage>.Iterator

        init(_ stream: BoundedStream<MQTTMessage>) {
            self.stream = stream
            iterator = stream.makeAsyncIterator()
        }

        var droppedCount: Int { stream.droppedCount }

        func nextMessage() async throws -> MQTTMessage? { try await iterator.next() }

        /// The next messages, as text; fewer at the end of the stream.
        func next(_ count: Int) async throws -> [String] {
            var texts: [String] = []
            while texts.count < count, let message = try await nextMessage() { texts.append(message.text) }
            return texts
        }
    }

    extension MQTTClient {
        nonisolated func read(_ filter: String, qos: MQTTMessage.QoS = .atLeastOnce, capacity: Int = 1000) async throws
            -> MessageReader
        {
            MessageReader(await subscribe(try TopicFilter(filter), qos: qos, capacity: capacity))
        }
    }

    /// An error's code, for expectations.
    func code(of body: () async throws -> Void) async -> MQTTError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? MQTTError)?.code
        }
    }
#endif
