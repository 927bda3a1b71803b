#if Gateway
    internal import BLE
    internal import Logging
    internal import Loop
    internal import Waiting

    extension MQTTClient {
        /// The attempt to connect, or the connection that it led to.
        struct Attempt {
            /// Distinguishes the attempt from earlier ones, which may still be resolving a name.
            private(set) var number = 0
            /// The number of attempts since the last connection that lasted.
            fileprivate var failures = 0
            fileprivate var onlyIPv4 = false
            /// Whether an attempt of this client has succeeded.
            fileprivate var hasConnected = false
            /// The deadline of an attempt, the pause before one, or the time until a connection has lasted.
            fileprivate var timer: Expiry?
            fileprivate var keepAlive: LoopTimer?

            fileprivate mutating func begin() -> Int {
                end()
                number += 1
                return number
            }

            /// Ends the attempt. What it is doing has no effect any more.
            mutating func end() {
                timer?.cancel()
                timer = nil
                keepAlive = nil
                number += 1
            }
        }

        func connect() {
            let number = attempt.begin()
            state = .connecting
            let limit = configuration.connectTimeout
            attempt.timer = after(limit) { me in
                me.lose(MQTTError(.timedOut, "no answer from the broker within \(limit)"))
            }
            // A session without expiry ends with its connection.
            let isClean = configuration.sessionExpiry == .zero
            let (configuration, onlyIPv4) = (configuration, attempt.onlyIPv4)
            // Without a thread, the attempt ends at its deadline.
            SystemThread.start("mqtt") { [weak self, loop] in
                let result = Result { () throws(MQTTError) in
                    try MosquittoHandle(configuration, cleanStart: isClean, onlyIPv4: onlyIPv4)
                }
                loop.perform { [weak self] in self?.assumeIsolated { $0.didOpen(result, number) } }
            }
        }

        private func didOpen(_ result: Result<MosquittoHandle, MQTTError>, _ number: Int) {
            guard number == attempt.number else { return }
            do throws(MQTTError) {
                let handle = try result.get()
                do throws(LoopError) { try loop.prepare() } catch { throw MQTTError(.unreachable, "\(error)") }
                weak let me = self
                connection = try BrokerConnection(handle, on: loop) { events in
                    me?.assumeIsolated { $0.didReceive(events) }
                } onLoss: { error in
                    me?.assumeIsolated { $0.lose(error) }
                }
            } catch {
                lose(error)
            }
        }

        private func didReceive(_ events: [MosquittoHandle.Event]) {
            for event in events where connection != nil {
                switch event {
                case .connected(let welcome): didConnect(welcome)
                case .acknowledged(let identifier, let code):
                    let result: Result<Void, MQTTError> =
                        code < 0x80 ? .success(()) : .failure(MQTTError(reasonCode: code))
                    if queue.didAcknowledge(identifier, result), code >= 0x80 { counts.dropped += 1 }
                case .subscribed(let identifier, let code):
                    let (filter, refusal) = subscriptions.didAcknowledge(identifier, code)
                    noteRefusal(refusal)
                    if let filter { eventObservers.yield(.subscribed(filter)) }
                    subscribePending()
                case .message(let message, let numbers):
                    counts.received += 1
                    eventObservers.yield(.message(message))
                    if !subscriptions.deliver(message, to: numbers) { counts.unwanted += 1 }
                case .refused, .disconnected: break  // The connection reports its loss, with the reason.
                }
            }
            flush()
            noteIfSent()
        }

        private func didConnect(_ welcome: MosquittoHandle.Welcome) {
            guard self.welcome == nil else {
                return lose(MQTTError(.malformed, "the broker accepted the client twice"))
            }
            self.welcome = welcome
            if attempt.hasConnected { counts.reconnects += 1 }
            attempt.onlyIPv4 = false
            attempt.timer?.cancel()
            // A broker that ends each connection soon is not tried more often than one that accepts none.
            attempt.timer = after(configuration.backoff.maximum) { $0.attempt.failures = 0 }
            let seconds = min(configuration.keepAlive, welcome.keepAlive.map { .seconds(Int64($0)) } ?? .seconds(65535))
            keepAlive(every: max(.seconds(1), seconds / 4))
            // This process has subscribed to nothing before its first connection, whatever is in the session.
            if !welcome.sessionPresent || !attempt.hasConnected { subscriptions.forget() }
            attempt.hasConnected = true
            connectionNumber += 1
            // What was queued since the last connection.
            if !configuration.keepsQueue { queue.end(MQTTError(.dropped, "there was no connection")) }
            state = .connected(sessionPresent: welcome.sessionPresent)
            logger.info("connected to the broker", metadata: ["session": "\(welcome.sessionPresent ? "kept" : "new")"])
            subscribePending()
        }

        private func keepAlive(every pause: Duration) {
            attempt.keepAlive = loop.schedule(after: pause) { [weak self] in
                self?.assumeIsolated { me in
                    me.connection?.checkKeepAlive()
                    if me.welcome != nil { me.keepAlive(every: pause) }
                }
            }
        }

        /// Ends the attempt or the connection after an error, and plans the next attempt.
        func lose(_ error: MQTTError) {
            // An address that cannot be reached at all may be of the wrong kind.
            if connection?.isReached != true { attempt.onlyIPv4.toggle() }
            connection?.close()
            (connection, welcome) = (nil, nil)
            attempt.end()
            subscriptions.didDisconnect()
            if configuration.keepsQueue {
                queue.didDisconnect()
            } else {
                queue.end(MQTTError(.dropped, "the connection ended"))
            }
            attempt.failures += 1
            let backoff = configuration.backoff
            let pause = error.isLasting ? backoff.maximum : backoff.pause(afterFailures: attempt.failures)
            attempt.timer = after(pause) { $0.connect() }
            state = .disconnected(error, retryIn: pause)
            logger.info("not connected to the broker", metadata: ["error": "\(error)", "retry in": "\(pause)"])
            noteIfSent()
        }
    }
#endif
