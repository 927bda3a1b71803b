#if Gateway
    internal import Waiting

    /// The messages that wait to be sent, and those that were sent and not acknowledged.
    ///
    /// A retained message takes the place of an earlier one for its topic that still waits.
    struct OutgoingQueue {
        struct Entry {
            let message: MQTTMessage
            /// The position in the queue.
            fileprivate(set) var number: UInt64
            /// When the message was queued.
            let time: Duration
            /// What is resumed when the message has been sent or dropped.
            let outcome: MQTTOutcome<Void>?
        }

        private let limits: MQTTClient.QueueLimits
        private var waiting: [UInt64: Entry] = [:]
        /// The numbers of the entries that wait, in order, with those of entries that were dropped.
        private var order = Fifo<UInt64>()
        /// The numbers of retained messages that wait, by their topics.
        private var latest: [String: UInt64] = [:]
        /// What waits for the broker's acknowledgment, by packet identifier.
        private var unacknowledged: [UInt16: Entry] = [:]
        /// The number of messages sent since the broker has last acknowledged one.
        private var sentCount = 0
        private var lastNumber: UInt64 = 0
        private(set) var size = 0
        /// The number of messages that were dropped because the queue was full or they had expired.
        private(set) var droppedCount = 0
        /// The number of messages that a later one has replaced.
        private(set) var replacedCount = 0

        init(_ limits: MQTTClient.QueueLimits) { self.limits = limits }

        var count: Int { waiting.count }
        var isEmpty: Bool { waiting.isEmpty && unacknowledged.isEmpty }

        /// Adds a message at the end, or in the place of an earlier one. Drops the oldest messages if the queue is
        /// full.
        ///
        /// Throws `.tooLarge` for a message that does not fit an empty queue.
        mutating func add(_ message: MQTTMessage, at time: Duration, _ outcome: MQTTOutcome<Void>?) throws(MQTTError) {
            guard message.size <= limits.bytes else {
                throw MQTTError(.tooLarge, "a message has \(message.size) bytes, and the queue \(limits.bytes)")
            }
            var entry = Entry(message: message, number: lastNumber + 1, time: time, outcome: outcome)
            if message.retain, let number = latest[message.topic], let earlier = take(number) {
                entry.number = number
                replace(earlier)
            } else {
                lastNumber += 1
                order.append(lastNumber)
            }
            insert(entry)
            while waiting.count > max(1, limits.count) || size > limits.bytes, let oldest = popFirst() {
                drop(oldest, "the queue was full")
            }
        }

        /// Takes the first message that may be sent, with the rest of its expiry.
        ///
        /// - Parameter window: the maximum number of messages without acknowledgment.
        mutating func next(at time: Duration, window: Int) -> (entry: Entry, expiry: Duration?)? {
            // libmosquitto uses identifiers again after 65535 messages, whether or not they are acknowledged.
            guard unacknowledged.isEmpty || sentCount < 1 << 15 else { return nil }
            while let entry = popFirst() {
                let expiry = entry.message.expiry.map { $0 - (time - entry.time) }
                if let expiry, expiry <= .zero {
                    drop(entry, "the message expired before it was sent")
                } else if entry.message.qos == .atLeastOnce, unacknowledged.count >= window {
                    restore([entry])
                    return nil
                } else {
                    return (entry, expiry)
                }
            }
            return nil
        }

        /// Puts back a message that was taken and could not be sent.
        mutating func putBack(_ entry: Entry) { restore([entry]) }

        /// Notes that a message was sent as a packet with this identifier.
        mutating func didSend(_ entry: Entry, as identifier: UInt16) {
            sentCount += 1
            if entry.message.qos == .atLeastOnce {
                unacknowledged[identifier] = entry
            } else {
                entry.outcome?.deliver(.success(()))
            }
        }

        /// Returns whether a packet with this identifier was waiting for its acknowledgment.
        mutating func didAcknowledge(_ identifier: UInt16, _ result: Result<Void, MQTTError>) -> Bool {
            guard let entry = unacknowledged.removeValue(forKey: identifier) else { return false }
            sentCount = 0
            entry.outcome?.deliver(result)
            return true
        }

        /// Puts the messages without acknowledgment back into their places: the connection ended.
        mutating func didDisconnect() {
            sentCount = 0
            let entries = unacknowledged.values.sorted { $0.number < $1.number }
            unacknowledged = [:]
            restore(entries)
        }

        /// Drops everything.
        mutating func end(_ error: MQTTError) {
            didDisconnect()
            droppedCount += waiting.count
            for entry in waiting.values { entry.outcome?.deliver(.failure(error)) }
            (waiting, order, latest, size) = ([:], Fifo(), [:], 0)
        }

        // MARK: Parts

        private mutating func insert(_ entry: Entry) {
            waiting[entry.number] = entry
            size += entry.message.size
            if entry.message.retain { latest[entry.message.topic] = entry.number }
        }

        private mutating func take(_ number: UInt64) -> Entry? {
            guard let entry = waiting.removeValue(forKey: number) else { return nil }
            size -= entry.message.size
            if latest[entry.message.topic] == number { latest[entry.message.topic] = nil }
            return entry
        }

        private mutating func popFirst() -> Entry? {
            while let number = order.popFirst() {
                if let entry = take(number) { return entry }
            }
            return nil
        }

        /// Puts entries back in front of all others, unless a later one is waiting that replaces them.
        private mutating func restore(_ entries: [Entry]) {
            guard !entries.isEmpty else { return }
            var numbers: [UInt64] = []
            // The newest first: it replaces the others of its topic.
            for entry in entries.reversed() {
                if entry.message.retain, latest[entry.message.topic] != nil {
                    replace(entry)
                } else {
                    insert(entry)
                    numbers.append(entry.number)
                }
            }
            order.prepend(numbers.reversed())
        }

        private mutating func drop(_ entry: Entry, _ reason: String) {
            droppedCount += 1
            entry.outcome?.deliver(.failure(MQTTError(.dropped, reason)))
        }

        private mutating func replace(_ entry: Entry) {
            replacedCount += 1
            entry.outcome?.deliver(.failure(MQTTError(.dropped, "a later message for the topic replaced it")))
        }
    }
#endif
