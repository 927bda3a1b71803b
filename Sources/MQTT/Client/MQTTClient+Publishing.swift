#if Gateway
    internal import Loop
    internal import Waiting

    extension MQTTClient {
        /// Queues a message. It is sent as soon as the client is connected, with what is left of its expiry.
        ///
        /// A retained message replaces an earlier one for its topic that was not sent yet. If the queue is full, the
        /// oldest message is dropped and counted.
        ///
        /// Throws `.invalidArgument`, `.tooLarge`, or `.shutDown`.
        package func publish(_ message: MQTTMessage) throws(MQTTError) { try enqueue(message, nil) }

        /// Queues a message for one connection: if there was another one since, the message is dropped.
        package func publish(_ message: MQTTMessage, on connection: Int) throws(MQTTError) {
            if connection == connectionNumber { try enqueue(message, nil) }
        }

        /// Queues a message, and waits at most `limit` until the broker has acknowledged it, or, with the QoS
        /// `.atMostOnce`, until it was sent.
        ///
        /// Throws also `.timedOut` and `.cancelled`, after which the message may still be sent, `.dropped`, and what
        /// the broker answers.
        package func publish(_ message: MQTTMessage, within limit: Duration) async throws(MQTTError) {
            let outcome = MQTTOutcome<Void>()
            let expiry = outcome.expire(after: limit, clock: clock) {
                MQTTError(.timedOut, "the broker has not acknowledged a message within \(limit)")
            }
            defer { expiry.cancel() }
            try enqueue(message, outcome)
            try await outcome.wait()
        }

        private func enqueue(_ message: MQTTMessage, _ outcome: MQTTOutcome<Void>?) throws(MQTTError) {
            guard end == nil else { throw .shutDown }
            try message.check()
            try queue.add(message, at: elapsed(), outcome)
            flush()
        }

        /// The maximum number of messages to send before the loop does its other work.
        private static let messagesPerTurn = 256

        /// Sends what is queued, as long as the socket has room.
        func flush() {
            guard let connection, welcome != nil, !isFlushing else { return }
            var sent = 0
            let now = elapsed()
            while !connection.wantsWrite, let (entry, expiry) = queue.next(at: now, window: configuration.window) {
                do throws(MQTTError) {
                    let identifier = try connection.publish(entry.message, expiry: expiry)
                    queue.didSend(entry, as: identifier)
                    counts.sent += 1
                } catch {
                    guard error.code == .connectionLost else {
                        // The broker would never accept it.
                        counts.dropped += 1
                        entry.outcome?.deliver(.failure(error))
                        continue
                    }
                    queue.putBack(entry)
                    return lose(error)
                }
                sent += 1
                if sent == Self.messagesPerTurn {
                    isFlushing = true
                    return loop.perform { [weak self] in self?.assumeIsolated { $0.continueFlushing() } }
                }
            }
        }

        private func continueFlushing() {
            isFlushing = false
            flush()
            noteIfSent()
        }
    }
#endif
