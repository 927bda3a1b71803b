#if Gateway
    internal import BLE
    internal import Waiting

    /// The subscriptions of a client, and their readers.
    struct Subscriptions {
        private struct Subscription {
            let filter: TopicFilter
            var qos: MQTTMessage.QoS
            var readers = Observers<MQTTMessage>()
            /// Whether it lasts without a reader.
            var isHeld = false

            var isUnwanted: Bool { readers.isEmpty && !isHeld }
        }

        /// The number of subscriptions for which the broker is asked before it has answered. It puts the retained
        /// messages of all of them into a queue, and drops what does not fit.
        private static let window = 16

        /// By the number that the broker adds to the messages of a subscription.
        private var subscriptions: [Int: Subscription] = [:]
        private var tree = TopicTree<Int>()
        /// The numbers of the subscriptions for which the broker is to be asked, in order.
        private var pending = Fifo<Int>()
        /// The numbers of those for which it was asked, by packet identifier.
        private var asked: [UInt16: Int] = [:]
        /// A session that the broker has kept since an earlier process has other numbers. They begin anywhere because
        /// messages of both may arrive.
        private var lastNumber = Int.random(in: 0..<(1 << 27))

        /// Adds a reader, and has the broker asked, which then sends the retained messages.
        ///
        /// - Parameter left: called with the subscription's number and the reader's token when the reader has ended.
        mutating func add(
            _ filter: TopicFilter, _ qos: MQTTMessage.QoS, capacity: Int,
            _ left: @escaping @Sendable (Int, Int) -> Void
        ) -> BoundedStream<MQTTMessage> {
            let (number, found) = subscription(filter, qos)
            var subscription = found
            defer { subscriptions[number] = subscription }
            return subscription.readers.add(capacity: capacity) { left(number, $0) }
        }

        /// Holds a subscription without a reader, and has the broker asked.
        mutating func hold(_ filter: TopicFilter, _ qos: MQTTMessage.QoS) {
            let (number, _) = subscription(filter, qos)
            subscriptions[number]?.isHeld = true
        }

        /// Returns the subscription to a filter, for which the broker is to be asked.
        private mutating func subscription(_ filter: TopicFilter, _ qos: MQTTMessage.QoS) -> (Int, Subscription) {
            let number: Int
            if let known = tree[filter] {
                number = known
            } else {
                lastNumber += 1
                number = lastNumber
                tree[filter] = number
            }
            var subscription = subscriptions[number] ?? Subscription(filter: filter, qos: qos)
            subscription.qos = max(subscription.qos, qos)
            pending.append(number)
            subscriptions[number] = subscription
            return (number, subscription)
        }

        /// Removes a reader. Returns the filter if nobody else wants it.
        mutating func remove(_ number: Int, _ token: Int) -> TopicFilter? {
            subscriptions[number]?.readers.remove(token)
            return forgetIfUnwanted(number)
        }

        /// Ends the hold of a subscription. Returns the filter if nobody else wants it.
        mutating func release(_ filter: TopicFilter) -> TopicFilter? {
            guard let number = tree[filter] else { return nil }
            subscriptions[number]?.isHeld = false
            return forgetIfUnwanted(number)
        }

        private mutating func forgetIfUnwanted(_ number: Int) -> TopicFilter? {
            guard let subscription = subscriptions[number], subscription.isUnwanted else { return nil }
            forget(number, subscription.filter)
            return subscription.filter
        }

        private mutating func forget(_ number: Int, _ filter: TopicFilter) {
            subscriptions[number] = nil
            tree[filter] = nil
        }

        /// The broker no longer has the subscriptions.
        mutating func forget() {
            asked = [:]
            pending = Fifo()
            for number in subscriptions.keys.sorted() { pending.append(number) }
        }

        /// The connection has ended. What the broker has not answered, it is asked again.
        mutating func didDisconnect() {
            for number in asked.values.sorted() { pending.append(number) }
            asked = [:]
        }

        /// Takes the next subscription for which the broker is to be asked.
        mutating func nextPending() -> (number: Int, filter: TopicFilter, qos: MQTTMessage.QoS)? {
            while asked.count < Self.window, let number = pending.popFirst() {
                if let subscription = subscriptions[number] { return (number, subscription.filter, subscription.qos) }
            }
            return nil
        }

        mutating func didAsk(_ number: Int, as identifier: UInt16) { asked[identifier] = number }

        /// Notes the broker's answer. Returns the filter that it has accepted. If it refuses, ends the streams of the
        /// subscription, and returns the error.
        mutating func didAcknowledge(_ identifier: UInt16, _ code: UInt8) -> (TopicFilter?, MQTTError?) {
            guard let number = asked.removeValue(forKey: identifier) else { return (nil, nil) }
            guard code < 0x80 else { return (nil, refuse(number, MQTTError(reasonCode: code))) }
            return (subscriptions[number]?.filter, nil)
        }

        /// Ends the streams of a subscription.
        mutating func refuse(_ number: Int, _ error: MQTTError) -> MQTTError? {
            guard let filter = subscriptions[number]?.filter else { return nil }
            let error = MQTTError(
                error.code, "the subscription to \(filter) was refused: \(error.message)", reasonCode: error.reasonCode)
            subscriptions[number]?.readers.finish(BLEError(.notPermitted, error.message, cause: error))
            forget(number, filter)
            return error
        }

        /// Gives a message to the readers of matching filters. Returns false if there are none.
        ///
        /// - Parameter numbers: those of the subscriptions for which the broker has sent it. A broker sends a message
        ///   that matches several as often.
        func deliver(_ message: MQTTMessage, to numbers: [Int]) -> Bool {
            guard (try? MQTTMessage.checkTopic(message.topic)) != nil else { return false }
            let known = numbers.filter { subscriptions[$0] != nil }
            var isWanted = false
            tree.forEachMatch(message.topic) { number in
                guard known.isEmpty || known.contains(number) else { return }
                subscriptions[number]?.readers.yield(message)
                isWanted = true
            }
            return isWanted
        }

        mutating func end() {
            for number in subscriptions.keys { subscriptions[number]?.readers.finish() }
            (subscriptions, tree, pending, asked) = ([:], TopicTree(), Fifo(), [:])
        }
    }
#endif
