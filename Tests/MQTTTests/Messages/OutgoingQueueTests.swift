#if Gateway
    import BLETestSupport
    import Testing
    import Waiting

    @testable import MQTT

    @Suite struct OutgoingQueueTests {
        private func message(_ topic: String, _ payload: Int = 0, retain: Bool = false) -> MQTTMessage {
            MQTTMessage(topic, [UInt8(payload)], qos: .atLeastOnce, retain: retain)
        }

        /// Takes everything out of a queue.
        private func expectAll(_ queue: inout OutgoingQueue, _ expected: [String]) {
            var texts: [String] = []
            while let (entry, _) = queue.next(at: .zero, window: 1000) {
                texts.append("\(entry.message.topic)\(entry.message.payload.first ?? 0)")
            }
            #expect(texts == expected)
        }

        private func send(_ queue: inout OutgoingQueue, as identifier: UInt16) throws {
            let next = queue.next(at: .zero, window: 9)
            queue.didSend(try #require(next).entry, as: identifier)
        }

        @Test func `the oldest messages are dropped, and counted`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits(count: 3))
            for number in 0..<5 { try queue.add(message("a", number), at: .zero, nil) }
            #expect(queue.count == 3 && queue.droppedCount == 2)
            expectAll(&queue, ["a2", "a3", "a4"])
            #expect(queue.size == 0)
        }

        @Test func `the bytes are limited, too`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits(bytes: 100))
            for number in 0..<200 { try queue.add(message("a", number), at: .zero, nil) }
            #expect(queue.count == 50 && queue.size == 100 && queue.droppedCount == 150)
            do throws(MQTTError) {
                try queue.add(MQTTMessage("a", [UInt8](repeating: 0, count: 100)), at: .zero, nil)
                Issue.record("a message that is too large was queued")
            } catch {
                #expect(error.code == .tooLarge)
            }
            #expect(queue.count == 50)
        }

        @Test func `a retained message takes the place of an earlier one for its topic`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits())
            try queue.add(message("a", 1, retain: true), at: .zero, nil)
            try queue.add(message("b", 1), at: .zero, nil)
            for number in 2...9 { try queue.add(message("a", number, retain: true), at: .zero, nil) }
            try queue.add(message("b", 2), at: .zero, nil)
            #expect(queue.replacedCount == 8 && queue.droppedCount == 0 && queue.size == 6)
            expectAll(&queue, ["a9", "b1", "b2"])
            try queue.add(message("a", 1, retain: true), at: .zero, nil)
            expectAll(&queue, ["a1"])
        }

        @Test func `of unacknowledged messages for a topic, the last one is sent again`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits())
            for (number, topic) in ["a", "b", "a", "c"].enumerated() {
                try queue.add(message(topic, number, retain: true), at: .zero, nil)
                try send(&queue, as: UInt16(number + 1))
            }
            queue.didDisconnect()
            expectAll(&queue, ["b1", "a2", "c3"])
        }

        @Test func `an expired message is not sent, and another has the rest of its time`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits())
            try queue.add(MQTTMessage("a", [], expiry: .seconds(10)), at: .seconds(1), nil)
            try queue.add(MQTTMessage("b", [], expiry: .seconds(20)), at: .seconds(2), nil)
            try queue.add(MQTTMessage("c", []), at: .seconds(3), nil)
            let first = queue.next(at: .seconds(11), window: 1)
            #expect(first?.entry.message.topic == "b" && first?.expiry == .seconds(11))
            let second = queue.next(at: .seconds(11), window: 1)
            #expect(second?.entry.message.topic == "c" && second?.expiry == nil)
            #expect(queue.droppedCount == 1)
        }

        @Test func `messages wait while too many are unacknowledged, in order`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits())
            for number in 0..<4 { try queue.add(message("a", number), at: .zero, nil) }
            for identifier in [UInt16(1), 2] { try send(&queue, as: identifier) }
            let none = queue.next(at: .zero, window: 2)
            #expect(none == nil)
            let known = [7, 2, 2].map { queue.didAcknowledge($0, .success(())) }
            #expect(known == [false, true, false])
            let next = queue.next(at: .zero, window: 2)
            #expect(next?.entry.message.payload == [2])
        }

        @Test func `unacknowledged messages are sent again in their places, unless later ones replace them`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits())
            try queue.add(message("a", 1), at: .zero, nil)
            try queue.add(message("b", 1, retain: true), at: .zero, nil)
            try queue.add(message("c", 1), at: .zero, nil)
            for identifier in [UInt16(9), 4, 7] {
                try send(&queue, as: identifier)
            }
            try queue.add(message("b", 2, retain: true), at: .zero, nil)
            try queue.add(message("d", 1), at: .zero, nil)
            #expect(!queue.isEmpty)
            queue.didDisconnect()
            expectAll(&queue, ["a1", "c1", "b2", "d1"])
            #expect(queue.isEmpty && queue.size == 0 && queue.replacedCount == 1)
        }

        @Test func `identifiers are not used again while one waits for its acknowledgment`() throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits(count: 100_000))
            try queue.add(message("a"), at: .zero, nil)
            for _ in 0..<70_000 { try queue.add(MQTTMessage("b", []), at: .zero, nil) }
            var sent = 0
            while let (entry, _) = queue.next(at: .zero, window: 64) {
                sent += 1
                queue.didSend(entry, as: UInt16(truncatingIfNeeded: sent))
            }
            #expect(sent < 65535)
            let isKnown = queue.didAcknowledge(1, .success(()))
            let next = queue.next(at: .zero, window: 64)
            #expect(isKnown && next != nil)
        }

        @Test func `each wait has its own end`() async throws {
            var queue = OutgoingQueue(MQTTClient.QueueLimits(count: 2))
            let outcomes = (0..<5).map { _ in MQTTOutcome<Void>() }
            try queue.add(message("a"), at: .zero, outcomes[0])
            try queue.add(message("b", 1, retain: true), at: .zero, outcomes[1])
            try queue.add(message("b", 2, retain: true), at: .zero, outcomes[2])
            try queue.add(message("c"), at: .zero, outcomes[3])
            // The queue has dropped the oldest.
            for outcome in outcomes[0...1] {
                await #expect { try await outcome.wait() } throws: { ($0 as? MQTTError)?.code == .dropped }
            }
            try send(&queue, as: 1)
            #expect(outcomes[2].isOpen)
            let isKnown = queue.didAcknowledge(1, .failure(MQTTError(reasonCode: 0x97)))
            #expect(isKnown)
            await #expect { try await outcomes[2].wait() } throws: { ($0 as? MQTTError)?.reasonCode == 0x97 }
            queue.end(.shutDown)
            await #expect { try await outcomes[3].wait() } throws: { ($0 as? MQTTError)?.code == .shutDown }
            #expect(queue.isEmpty && queue.droppedCount == 2)
            let sent = MQTTOutcome<Void>()
            try queue.add(MQTTMessage("d", []), at: .zero, sent)
            try send(&queue, as: 2)
            try await sent.wait()
        }
    }
#endif
