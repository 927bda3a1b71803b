#if Gateway
    import BLE
    import Logging
    import Loop
    import MQTT
    import Synchronization

    /// A gateway's broker, reached through MQTT.
    final class MQTTBroker: GatewayBroker {
        private let client: MQTTClient
        private let stream: AsyncStream<BrokerEvent>
        private let continuation: AsyncStream<BrokerEvent>.Continuation
        private let received: AsyncStream<ReceivedMessage>
        private let receive: AsyncStream<ReceivedMessage>.Continuation
        /// The number of messages that wait for the reader. In a fleet, each connection begins with one for each device
        /// that the broker knows.
        private let capacity: Int
        /// Messages on their way to the client, whose queue is bounded.
        private let outgoing: AsyncStream<GatewayMessage>.Continuation
        private let sender: Task<Void, Never>
        private let readers = Mutex<[Task<Void, Never>]>([])

        /// Creates a broker, which is connected to when its events are first asked for.
        ///
        /// Throws `invalidArgument` for what no broker can accept.
        init(_ configuration: GatewayConfiguration, logger: Logger) throws(BLEError) {
            do throws(MQTTError) {
                client = try MQTTClient(Self.settings(configuration), on: EventLoop(name: "mqtt"), logger: logger)
            } catch {
                throw BLEError(.invalidArgument, error.message)
            }
            capacity = configuration.isFleet ? 20_000 : 1000
            (received, receive) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(capacity))
            (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(100))
            let (messages, outgoing) = AsyncStream.makeStream(of: GatewayMessage.self)
            self.outgoing = outgoing
            sender = Task { [client, continuation] in
                for await message in messages {
                    do throws(MQTTError) {
                        try await Self.send(message, client)
                    } catch {
                        // A command may name a topic for its result that is none.
                        continuation.yield(.refused(topic: message.topic, reason: error.message))
                    }
                }
            }
        }

        private static func settings(_ configuration: GatewayConfiguration) -> MQTTClient.Configuration {
            let broker = configuration.broker
            var settings = MQTTClient.Configuration(
                .tcp(host: broker.host, port: broker.port ?? (broker.tls == nil ? 1883 : 8883)),
                clientID: "swift-ble-\(configuration.id)")
            settings.tls = broker.tls.map { MQTTClient.TLS(authorityFile: $0.certificateAuthorities) }
            settings.credentials = broker.user.map { MQTTClient.Credentials(username: $0, password: broker.password) }
            let offline = MQTTMessage(
                GatewayTopics(configuration).state, Array("offline".utf8), qos: .atLeastOnce, retain: true)
            // The longest command is smaller.
            settings.maximumPacket = 16 << 10
            settings.will = MQTTClient.Will(offline)
            return settings
        }

        func events() -> AsyncStream<BrokerEvent> {
            let states = Task { [client, continuation] in
                await client.start()
                do {
                    for try await state in await client.states() {
                        switch state {
                        case .connected: continuation.yield(.connected)
                        case .disconnected(let error, _): continuation.yield(.disconnected(reason: error.message))
                        case .idle, .connecting: break
                        }
                    }
                } catch {}
                continuation.finish()
            }
            readers.withLock { $0.append(states) }
            return stream
        }

        func messages() -> AsyncStream<ReceivedMessage> { received }

        func publish(_ message: GatewayMessage) { outgoing.yield(message) }

        private static func send(_ message: GatewayMessage, _ client: MQTTClient) async throws(MQTTError) {
            try await client.publish(
                MQTTMessage(
                    message.topic, Array(message.payload.utf8), qos: .atLeastOnce, retain: message.isRetained,
                    expiry: message.expiry, correlationData: message.correlation))
        }

        func subscribe(_ filters: [String]) async {
            for filter in filters {
                guard let filter = try? TopicFilter(filter) else { continue }
                let messages = await client.subscribe(filter, capacity: capacity)
                let reader = Task { [continuation, receive] in
                    do {
                        for try await message in messages {
                            receive.yield(
                                ReceivedMessage(
                                    topic: message.topic, payload: message.payload, isRetained: message.retain,
                                    responseTopic: message.responseTopic, correlation: message.correlationData))
                        }
                    } catch {
                        continuation.yield(.refused(topic: "\(filter)", reason: "\(error)"))
                    }
                }
                readers.withLock { $0.append(reader) }
            }
        }

        func shutDown() async {
            outgoing.finish()
            await sender.value
            await client.shutDown()
            for reader in readers.withLock({ $0 }) { reader.cancel() }
            continuation.finish()
            receive.finish()
        }
    }
#endif
