#if Gateway
    package import BLE
    internal import Logging
    internal import Loop

    extension MQTTClient {
        /// Returns the messages that match a filter. The subscription ends with the stream, and is renewed on each
        /// connection until then.
        ///
        /// Each further stream for a filter has the broker send its retained messages again, to all of them.
        ///
        /// The stream throws `notPermitted` if the broker refuses, and ends when the client is shut down.
        ///
        /// - Parameter capacity: the maximum number of unread messages. The oldest are dropped; see
        ///   `BoundedStream.droppedCount`.
        package func subscribe(
            _ filter: TopicFilter, qos: MQTTMessage.QoS = .atLeastOnce, capacity: Int = 1000
        ) -> BoundedStream<MQTTMessage> {
            guard end == nil else { return Observers<MQTTMessage>.ended() }
            let stream = subscriptions.add(filter, qos, capacity: capacity) { [weak self, loop] number, token in
                loop.perform { [weak self] in self?.assumeIsolated { $0.unsubscribe(number, token) } }
            }
            subscribePending()
            return stream
        }

        /// Subscribes without a stream: ``events(capacity:)`` has the messages. Has the broker send its retained
        /// messages.
        package func hold(_ filter: TopicFilter, qos: MQTTMessage.QoS = .atLeastOnce) {
            guard end == nil else { return }
            subscriptions.hold(filter, qos)
            subscribePending()
        }

        /// Ends what ``hold(_:qos:)`` has begun.
        package func release(_ filter: TopicFilter) { unsubscribe(subscriptions.release(filter)) }

        /// Asks the broker for the subscriptions that it does not have.
        func subscribePending() {
            guard let connection, let welcome else { return }
            while let (number, filter, qos) = subscriptions.nextPending() {
                do throws(MQTTError) {
                    let hasNumbers = welcome.hasSubscriptionIdentifiers
                    let identifier = try connection.subscribe(filter, qos, number: hasNumbers ? number : nil)
                    subscriptions.didAsk(number, as: identifier)
                } catch {
                    // After a loss, the next connection asks for all.
                    if error.code == .connectionLost { return lose(error) }
                    noteRefusal(subscriptions.refuse(number, error))
                }
            }
        }

        func noteRefusal(_ error: MQTTError?) {
            guard let error else { return }
            logger.info("subscription refused", metadata: ["error": "\(error)"])
            eventObservers.yield(.refused(error))
        }

        private func unsubscribe(_ number: Int, _ token: Int) { unsubscribe(subscriptions.remove(number, token)) }

        private func unsubscribe(_ filter: TopicFilter?) {
            guard let filter, let connection, welcome != nil else { return }
            do throws(MQTTError) { try connection.unsubscribe(filter) } catch { lose(error) }
        }
    }
#endif
