import BLE

#if Gateway
    import BLE
    import Logging
    import Loop
    import MQTT
    import Synchronization

    /// A gateway's broker, reached through MQTT.
    final class MQTTBroker: GatewayBroker {
        private let client: MQTTClient
        /// The number of unread events. In a fleet, each connection begins with several for each device.
        private let capacity: Int
        /// Tells people what is not possible.
        private let note: @Sendable (String) -> Void
        /// Messages on their way to the client, whose queue is bounded. Here wait only those that were published since
        /// the last turn of the client's thread: the client takes them all then, with or without a connection.
        private let outgoing: AsyncStream<(GatewayMessage, connection: Int?)>.Continuation
        /// The number of the connection that the reader of the events knows of. In a fleet, what was published on an
        /// earlier one is not sent. Nil outside of a fleet.
        private let connection: Mutex<Int?>
        private let sender: Task<Void, Never>

        /// Creates a broker, which is connected to when its events are first asked for.
        ///
        /// Throws `invalidArgument` for what no broker can accept.
        init(
            _ configuration: GatewayConfiguration, logger: Logger, note: @escaping @Sendable (String) -> Void
        ) throws(BLEError) {
            let loop = EventLoop(name: "mqtt")
            do throws(MQTTError) {
                client = try MQTTClient(Self.settings(configuration), on: loop, logger: logger)
            } catch {
                throw BLEError(.invalidArgument, error.message)
            }
            capacity = configuration.isFleet ? 50_000 : 1000
            self.note = note
            connection = Mutex(configuration.isFleet ? 0 : nil)
            let (messages, outgoing) = AsyncStream.makeStream(of: (GatewayMessage, connection: Int?).self)
            self.outgoing = outgoing
            // On the client's thread, because a switch of threads for each message costs more than the message.
            sender = Task(executorPreference: LoopTaskExecutor(loop)) { [client] in
                for await (message, connection) in messages {
                    do throws(MQTTError) {
                        try await Self.send(message, on: connection, client)
                    } catch {
                        // A command may name a topic for its result that is none.
                        note("\(message.topic.excerpt): \(error.message)")
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
            // What a gateway of a fleet had to say when it lost the broker, another one may have said better since.
            settings.keepsQueue = !configuration.isFleet
            return settings
        }

        func events() -> AsyncStream<BrokerEvent> {
            let reading = Task { [client, capacity] in
                let events = await client.events(capacity: capacity)
                await client.start()
                return events
            }
            let reader = Reader(reading)
            return AsyncStream {
                while let event = await reader.next() {
                    if await reader.hasDropped() {
                        self.note("more messages than this gateway can read: it begins another connection")
                        await self.client.reconnect()
                    }
                    switch event {
                    case .message(let message):
                        return .message(
                            ReceivedMessage(
                                topic: message.topic, payload: message.payload, isRetained: message.retain,
                                responseTopic: message.responseTopic, correlation: message.correlationData))
                    case .subscribed(let filter): return .subscribed(topic: "\(filter)")
                    case .refused(let error): return .refused(reason: error.message)
                    case .state(.connected, let number):
                        self.connection.withLock { if $0 != nil { $0 = number } }
                        return .connected
                    case .state(.disconnected(let error, _), _): return .disconnected(reason: error.message)
                    case .state(.idle, _), .state(.connecting, _): continue
                    }
                }
                return nil
            }
        }

        /// The only reader of a client's events.
        private actor Reader {
            private let reading: Task<BoundedStream<MQTTClient.Event>, Never>
            private var stream: BoundedStream<MQTTClient.Event>?
            /// One for all events: it takes all that wait at once, and returns one after the other.
            private var iterator: BoundedStream<MQTTClient.Event>.Iterator?
            private var dropped = 0
            private var noticed: ContinuousClock.Instant?
            /// The shortest time between two connections because of dropped events.
            private static let pause: Duration = .seconds(60)

            init(_ reading: Task<BoundedStream<MQTTClient.Event>, Never>) { self.reading = reading }

            func next() async -> MQTTClient.Event? {
                if stream == nil {
                    stream = await reading.value
                    iterator = stream?.makeAsyncIterator()
                }
                var iterator = iterator
                self.iterator = nil
                defer { self.iterator = iterator }
                return try? await iterator?.next(isolation: self)
            }

            /// Whether events were dropped since it was last true, which is at most once a minute.
            func hasDropped() -> Bool {
                let count = stream?.droppedCount ?? 0
                guard count > dropped else { return false }
                let now = ContinuousClock.now
                if let noticed, now - noticed < Self.pause { return false }
                (dropped, noticed) = (count, now)
                return true
            }
        }

        func publish(_ message: GatewayMessage) { outgoing.yield((message, connection.withLock { $0 })) }

        private static func send(
            _ message: GatewayMessage, on connection: Int?, _ client: MQTTClient
        ) async throws(MQTTError) {
            let message = MQTTMessage(
                message.topic, Array(message.payload.utf8), qos: message.isRepeated ? .atMostOnce : .atLeastOnce,
                retain: message.isRetained, expiry: message.expiry, correlationData: message.correlation)
            if let connection {
                try await client.publish(message, on: connection)
            } else {
                try await client.publish(message)
            }
        }

        func subscribe(_ filters: [String]) async {
            for filter in filters {
                do { await client.hold(try TopicFilter(filter)) } catch { note("\(filter.excerpt): \(error)") }
            }
        }

        func unsubscribe(_ filters: [String]) async {
            for filter in filters {
                if let filter = try? TopicFilter(filter) { await client.release(filter) }
            }
        }

        func waitForTurn() async { _ = await client.state }

        func shutDown() async {
            outgoing.finish()
            await sender.value
            await client.shutDown()
        }
    }
#endif
