#if Gateway
    package import BLE
    package import Logging
    package import Loop
    internal import Waiting

    /// A client of an MQTT 5 broker, which connects by itself, and again after each loss, until it is shut down.
    ///
    /// It runs on the thread of ``loop``, which is also this actor's executor. Names are resolved on a thread of their
    /// own. A client that is released without ``shutDown(within:publishingWill:)`` ends like a crashed one: the broker
    /// publishes its will.
    package actor MQTTClient {
        package nonisolated let loop: EventLoop
        package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        /// Whether the client is connected.
        package enum State: Hashable, Sendable {
            /// The client was not started, or was shut down.
            case idle
            case connecting
            /// - sessionPresent: whether the broker has kept the session.
            case connected(sessionPresent: Bool)
            /// The reason, and the pause until the next attempt.
            case disconnected(MQTTError, retryIn: Duration)
        }

        let configuration: Configuration
        let logger: Logger
        let clock: any Clock<Duration>
        /// The time since the client was made.
        let elapsed: @Sendable () -> Duration

        /// A change of the connection, or a message.
        package enum Event: Sendable {
            /// The connection has changed.
            ///
            /// - connection: the number of connections so far.
            case state(State, connection: Int)
            /// The broker has accepted a subscription, on this connection.
            case subscribed(TopicFilter)
            /// The broker has refused a subscription, which is forgotten.
            case refused(MQTTError)
            /// A message that matches a subscription. One that matches several arrives as often.
            case message(MQTTMessage)
        }

        package internal(set) var state = State.idle {
            didSet {
                stateObservers.yield(state)
                eventObservers.yield(.state(state, connection: connectionNumber))
            }
        }
        private var stateObservers = Observers<State>()
        var eventObservers = Observers<Event>()
        /// The number of connections so far.
        var connectionNumber = 0
        var counts = MQTTStatistics()
        var queue: OutgoingQueue
        var subscriptions = Subscriptions()

        var connection: BrokerConnection?
        /// What the broker has said; nil unless connected.
        var welcome: MosquittoHandle.Welcome?
        var attempt = Attempt()
        var isFlushing = false
        var end: End?

        /// The end of a client.
        struct End {
            let task: Task<Void, Never>
            /// Resumed when everything was sent.
            let sent: MQTTOutcome<Void>
        }

        /// - Parameters:
        ///   - clock: for pauses and deadlines. libmosquitto has a clock of its own for the keep-alive.
        ///
        /// Throws `.invalidArgument`.
        package init(
            _ configuration: Configuration, on loop: EventLoop, clock: (any Clock<Duration>)? = nil, logger: Logger
        ) throws(MQTTError) {
            try configuration.check()
            self.configuration = configuration
            self.loop = loop
            self.clock = clock ?? loop.clock
            self.logger = logger
            elapsed = Central.stopwatch(self.clock)
            queue = OutgoingQueue(configuration.queue)
        }

        deinit {
            guard let connection else { return }
            loop.perform { connection.close() }
        }

        /// What the client has counted so far.
        package var statistics: MQTTStatistics {
            var counts = counts
            counts.queued = queue.count
            counts.dropped += queue.droppedCount
            counts.replaced = queue.replacedCount
            return counts
        }

        /// The state, and each change of it from now on. Keeps the newest 16 unread states. Ends when the client is
        /// shut down.
        package func states() -> BoundedStream<State> {
            if end != nil, state == .idle { return Observers<State>.ended() }
            return stateObservers.add(capacity: 16, first: state) { [weak self, loop] token in
                loop.perform { [weak self] in self?.assumeIsolated { $0.stateObservers.remove(token) } }
            }
        }

        /// The changes of the connection and the messages from now on, in the order in which they happen. Ends when the
        /// client is shut down.
        ///
        /// - Parameter capacity: the maximum number of unread events. The oldest are dropped; see
        ///   `BoundedStream.droppedCount`.
        package func events(capacity: Int) -> BoundedStream<Event> {
            if end != nil, state == .idle { return Observers<Event>.ended() }
            return eventObservers.add(capacity: capacity) { [weak self, loop] token in
                loop.perform { [weak self] in self?.assumeIsolated { $0.eventObservers.remove(token) } }
            }
        }

        /// Ends the connection and begins another one, on which the broker sends its retained messages again.
        package func reconnect() {
            if welcome != nil { lose(MQTTError(.connectionLost, "the client begins another connection")) }
        }

        /// Begins to connect. Does nothing if the client was started before.
        package func start() {
            guard state == .idle, end == nil else { return }
            connect()
        }

        /// Sends what is queued, takes leave of the broker, and ends all streams and waits.
        ///
        /// After `limit`, or if the task is cancelled, what was not sent is dropped.
        ///
        /// - Parameter publishingWill: whether the broker publishes the will.
        package func shutDown(within limit: Duration = .seconds(5), publishingWill: Bool = false) async {
            if end == nil {
                let sent = MQTTOutcome<Void>()
                // In a task of its own, because several callers may wait for it.
                let me = self
                let task = Task(executorPreference: LoopTaskExecutor(loop)) {
                    try? await sent.wait()
                    await me.finish(publishingWill: publishingWill)
                }
                end = End(task: task, sent: sent)
                let expiry = sent.expire(after: limit, clock: clock) { MQTTError(.timedOut, "not everything was sent") }
                noteIfSent()
                await wait(for: task)
                expiry.cancel()
            } else if let task = end?.task {
                await wait(for: task)
            }
        }

        private func wait(for task: Task<Void, Never>) async {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }

        /// Lets a client that is being shut down end as soon as everything was sent.
        func noteIfSent() {
            guard let end else { return }
            let isWritten = connection.map { !$0.wantsWrite } ?? true
            // Before the start, nothing can be sent.
            if state == .idle || (queue.isEmpty && isWritten) { end.sent.deliver(.success(())) }
        }

        private func finish(publishingWill: Bool) {
            attempt.end()
            if welcome != nil {
                connection?.disconnect(publishingWill: publishingWill)
            } else {
                connection?.close()
            }
            (connection, welcome) = (nil, nil)
            queue.end(.shutDown)
            subscriptions.end()
            state = .idle
            stateObservers.finish()
            eventObservers.finish()
            logger.debug("MQTT client shut down")
        }

        /// Calls `work` on the actor after a pause by the client's clock.
        func after(_ pause: Duration, _ work: @escaping @Sendable (isolated MQTTClient) -> Void) -> Expiry {
            Expiry(after: pause, clock: clock) { [weak self, loop] in
                loop.perform { [weak self] in self?.assumeIsolated { work($0) } }
            }
        }
    }
#endif
