#if Gateway
    import BLE
    import BLETestSupport
    import Foundation
    import MQTT
    import Testing

    /// Brokers that do not do as they should.
    @Suite(.hangLimit) struct FaultTests {
        private typealias Connection = ScriptedBroker.Connection

        private static let hello: [UInt8] = Connection.accepted

        private static func publish(_ topic: String, _ text: String, type: UInt8 = 0x30) -> [UInt8] {
            let body = [UInt8(topic.utf8.count >> 8), UInt8(topic.utf8.count & 0xFF)] + topic.utf8 + [0] + text.utf8
            var (length, bytes) = (body.count, [type])
            repeat {
                bytes.append(UInt8(length & 0x7F) | (length > 0x7F ? 0x80 : 0))
                length >>= 7
            } while length > 0
            return bytes + body
        }

        @Test func `a broker that accepts the connection and says nothing is given up at the deadline`() async throws {
            let broker = try ScriptedBroker { $0.drain() }
            let clock = ManualClock()
            let client = try MQTTClient.make(broker.address, clock: clock) { $0.connectTimeout = .seconds(17) }
            await client.start()
            await clock.sleepers(1, for: .seconds(17))
            clock.advance(by: .seconds(17))
            let state = try await client.reach { $0.error != nil }
            #expect(state.error?.code == .timedOut)
            clock.advance(by: .seconds(1))
            await clock.sleepers(1, for: .seconds(17))
            await client.shutDown()
        }

        @Test(
            arguments: [
                ("nothing", [], .connectionLost), ("half of a CONNACK", [0x20, 3, 0], .connectionLost),
                ("garbage", [UInt8](repeating: 0xFF, count: 4096), .malformed),
                ("zeros", [UInt8](repeating: 0, count: 4096), .malformed),
                ("text", Array(String(repeating: "HTTP/1.1 400 Bad Request\r\n", count: 9).utf8), .malformed),
                ("a CONNACK of MQTT 3.1.1", [0x20, 2, 0, 1], .notAuthorized),
                ("a reason", [0x20, 3, 0, 0x97, 0], .refused),
                ("a message first", FaultTests.publish("a", "b"), .malformed),
                ("a length without an end", [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .malformed),
                ("two CONNACKs", FaultTests.hello + FaultTests.hello, .malformed),
                ("garbage later", FaultTests.hello + [UInt8](repeating: 0xFF, count: 4096), .malformed),
                ("a farewell", FaultTests.hello + [0xE0, 2, 0x8B, 0], .refused),
                ("an end", FaultTests.hello, .connectionLost),
                ("a topic that is not UTF-8", FaultTests.hello + [0x30, 5, 0, 2, 0xC3, 0x28, 0], .malformed),
                ("a topic alias", FaultTests.hello + [0x30, 7, 0, 0, 3, 0x23, 0, 1, 0x41], .malformed),
            ] as [(String, [UInt8], MQTTError.Code)])
        func `a broker that says the wrong thing is an error, and is tried again`(
            name: String, bytes: [UInt8], expected: MQTTError.Code
        ) async throws {
            let broker = try ScriptedBroker { connection in
                guard connection.read() != nil else { return }
                connection.write(bytes)
                if expected == .malformed { connection.drain() }
            }
            let clock = ManualClock()
            let client = try MQTTClient.make(broker.address, clock: clock)
            await client.start()
            var attempts = 0
            for try await state in await client.states() {
                guard let error = state.error else { continue }
                #expect(error.code == expected)
                attempts += 1
                if attempts == 3 { break }
                clock.advance(by: .seconds(30))
            }
            await client.shutDown()
        }

        @Test func `a session that another client has taken over waits for the longest pause`() async throws {
            let broker = try ScriptedBroker { connection in
                connection.accept()
                connection.write([0xE0, 1, 0x8E])
                connection.drain()
            }
            let client = try MQTTClient.make(broker.address, clock: ManualClock()) { $0.backoff = .standard }
            await client.start()
            let state = try await client.reach { $0.error != nil }
            #expect(state.error?.code == .sessionTakenOver && state.pause == .seconds(30))
            await client.shutDown()
        }

        @Test func `a broker that ends each connection at once is tried less and less often`() async throws {
            let broker = try ScriptedBroker { $0.accept() }
            let clock = ManualClock()
            let client = try MQTTClient.make(broker.address, clock: clock) { $0.backoff = .standard }
            await client.start()
            var pauses: [Duration] = []
            for try await state in await client.states() {
                guard let pause = state.pause else { continue }
                pauses.append(pause)
                if pauses.count == 8 { break }
                clock.advance(by: pause)
            }
            #expect(pauses == [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000].map { .milliseconds($0) })
            await client.shutDown()
        }

        @Test func `messages with topics that are not valid or not wanted are counted and left out`() async throws {
            let broker = try ScriptedBroker { connection in
                connection.accept()
                guard let subscribe = connection.read() else { return }
                connection.write([0x90, 4] + subscribe.body[0...1] + [0, 1])
                for topic in ["a/+", "b/1", "a/#", "#", "a/1"] {
                    connection.write(FaultTests.publish(topic, topic))
                }
                connection.write(FaultTests.publish("a/2", "end"))
                connection.drain()
            }
            let client = try MQTTClient.make(broker.address)
            let stream = try await client.read("a/+")
            await client.start()
            #expect(try await stream.next(2) == ["a/1", "end"])
            let statistics = await client.statistics
            #expect(statistics.received == 6 && statistics.unwanted == 4)
            await client.shutDown()
        }

        @Test func `a refused subscription ends its streams with an error`() async throws {
            let broker = try ScriptedBroker { connection in
                connection.accept()
                while let packet = connection.read() {
                    if packet.type == 0x82 { connection.write([0x90, 4] + packet.body[0...1] + [0, 0x87]) }
                }
            }
            let client = try MQTTClient.make(broker.address)
            let streams = [try await client.read("a"), try await client.read("a")]
            await client.start()
            for stream in streams {
                do {
                    _ = try await stream.next(1)
                    Issue.record("the stream has not failed")
                } catch {
                    #expect((error as? BLEError)?.code == .notPermitted)
                }
            }
            #expect(await client.state.isConnected)
            await client.shutDown()
        }

        @Test func `a message without acknowledgment is sent again on the next connection`() async throws {
            let seen = SharedValue<[[UInt8]]>([])
            let broker = try ScriptedBroker { connection in
                connection.accept()
                while let packet = connection.read() {
                    guard packet.type & 0xF0 == 0x30 else { continue }
                    seen.change { $0.append([UInt8](packet.body.suffix(1))) }
                    if seen.value.count == 3 { return }
                    guard connection.number > 0 else { continue }
                    connection.write([0x40, 2] + packet.body[3...4])
                }
            }
            let client = try MQTTClient.make(broker.address)
            await client.start()
            for text in ["1", "2", "3"] { try await client.publish(MQTTMessage("a", text: text)) }
            try await client.publish(MQTTMessage("a", text: "4"), within: .seconds(600))
            let texts = seen.value.map { String(decoding: $0, as: UTF8.self) }
            #expect(texts == ["1", "2", "3", "1", "2", "3", "4"])
            await client.shutDown()
            #expect(await client.statistics.reconnects == 1)
        }

        @Test func `a refused message is an error with the broker's reason`() async throws {
            let broker = try ScriptedBroker { connection in
                connection.accept()
                while let packet = connection.read() {
                    guard packet.type & 0xF0 == 0x30 else { continue }
                    connection.write([0x40, 4] + packet.body[3...4] + [0x87, 0])
                }
            }
            let client = try MQTTClient.make(broker.address)
            await client.start()
            await #expect {
                try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(600))
            } throws: {
                ($0 as? MQTTError)?.reasonCode == 0x87 && ($0 as? MQTTError)?.code == .notAuthorized
            }
            await client.shutDown()
            #expect(await client.statistics.dropped == 1)
        }

        @Test func `a broker that never reads does not let the queue grow, nor the shutdown wait`() async throws {
            let ended = SharedValue(false)
            let broker = try ScriptedBroker { connection in
                connection.accept()
                while !ended.value { usleep(1000) }
            }
            defer { ended.change { $0 = true } }
            let clock = ManualClock()
            let client = try MQTTClient.make(broker.address, clock: clock) {
                $0.queue = MQTTClient.QueueLimits(count: 1000, bytes: 1 << 20)
            }
            await client.start()
            try await client.reachConnected()
            for _ in 0..<20_000 {
                try await client.publish(MQTTMessage("a", [UInt8](repeating: 0, count: 200)))
            }
            let statistics = await client.statistics
            #expect(statistics.queued == 1000 && statistics.sent < 10_000)
            #expect(statistics.sent + statistics.dropped + 1000 == 20_000)
            async let shutdown: Void = client.shutDown(within: .seconds(6))
            await clock.sleepers(1, for: .seconds(6))
            clock.advance(by: .seconds(6))
            await shutdown
            #expect(await client.statistics.queued == 0)
        }

        @Test func `a shutdown ends waits and attempts, also when its task is cancelled`() async throws {
            let broker = try ScriptedBroker { $0.drain() }
            let clock = ManualClock()
            let client = try MQTTClient.make(broker.address, clock: clock)
            await client.start()
            async let waiting = code { try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(3600)) }
            await clock.sleepers(1, for: .seconds(3600))
            let stream = try await client.read("a")
            let shutdown = Task { await client.shutDown(within: .seconds(8)) }
            await clock.sleepers(1, for: .seconds(8))
            shutdown.cancel()
            await shutdown.value
            #expect(await waiting == .shutDown)
            #expect(try await stream.next(1) == [])
        }

        @Test func `200 reconnects leave no connection open`() async throws {
            let (open, latest) = (SharedValue(0), SharedValue(0))
            let broker = try ScriptedBroker { connection in
                open.change { $0 += 1 }
                connection.accept()
                // A farewell, without closing: only the client's end closes the connection.
                if connection.number < 200 { connection.write([0xE0, 2, 0x8B, 0]) }
                latest.change { $0 = max($0, connection.number) }
                connection.drain()
                open.change { $0 -= 1 }
            }
            let client = try MQTTClient.make(broker.address) { $0.backoff = Backoff(every: .milliseconds(1)) }
            await client.start()
            try await latest.until { $0 >= 200 }
            try await open.until { $0 == 1 }
            try await client.reachConnected()
            #expect(await client.statistics.reconnects == 200)
            await client.shutDown()
            try await open.until { $0 == 0 }
        }

        @Test func `a released client closes its connection`() async throws {
            let open = SharedValue(0)
            let broker = try ScriptedBroker { connection in
                open.change { $0 += 1 }
                connection.accept()
                connection.drain()
                open.change { $0 -= 1 }
            }
            var client: MQTTClient? = try MQTTClient.make(broker.address)
            await client?.start()
            try await client?.reachConnected()
            #expect(open.value == 1)
            client = nil
            try await open.until { $0 == 0 }
        }

        @Test func `a name that does not resolve is an error, and does not stop the loop`() async throws {
            let clock = ManualClock()
            let client = try MQTTClient.make(.tcp(host: "broker.invalid"), clock: clock)
            await client.start()
            #expect(await client.state == .connecting)
            // Either the resolver says so, or the deadline passes while it is silent.
            await clock.sleepers()
            let task = Task { try await client.reachError()?.code }
            for _ in 0..<100 { await Task.yield() }
            clock.advance(by: .seconds(30))
            #expect([.unreachable, .timedOut].contains(try await task.value))
            await client.shutDown()
        }

        @Test(
            arguments: [
                { $0.clientID = "" }, { $0.keepAlive = .seconds(1) }, { $0.keepAlive = .seconds(70_000) },
                { $0.window = 0 }, { $0.maximumPacket = 10 }, { $0.broker = .tcp(host: "", port: 1) },
                { $0.broker = .tcp(host: "a", port: 0) },
                { $0.broker = .unix(path: String(repeating: "a", count: 200)) },
                { $0.sessionExpiry = .seconds(-1) }, { $0.will = MQTTClient.Will(MQTTMessage("#", [])) },
                { $0.credentials = MQTTClient.Credentials(username: "a\u{0}") },
            ] as [@Sendable (inout MQTTClient.Configuration) -> Void])
        func `an invalid configuration is refused`(change: @escaping @Sendable (inout MQTTClient.Configuration) -> Void)
        {
            #expect { try MQTTClient.make(.unix(path: "/a"), change) } throws: {
                ($0 as? MQTTError)?.code == .invalidArgument
            }
        }
    }
#endif
