#if Gateway
    import BLE
    import BLETestSupport
    import BlueZTestSupport
    import MQTT
    import Subprocess
    import Testing

    @Suite(.hangLimit, .startsProcesses) struct PublishingTests {
        @Test func `a retained message has all its properties for another subscriber`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                await client.start()
                try await client.publish(
                    MQTTMessage(
                        "home/1/state", Array("{\"t\":21.5}".utf8), qos: .atLeastOnce, retain: true,
                        expiry: .seconds(3600), responseTopic: "home/1/answer", correlationData: Array("id 7".utf8),
                        contentType: "application/json",
                        userProperties: [MQTTMessage.UserProperty("unit", "°C"), MQTTMessage.UserProperty("n", "1")]),
                    within: .seconds(60))
                let lines = try await broker.read(
                    ["home/+/state"], count: 1, format: "%t|%p|%r|%R|%D|%C|%P|%E")
                let parts = lines.first?.split(separator: "|").map(String.init) ?? []
                #expect(
                    parts.prefix(6) == [
                        "home/1/state", "{\"t\":21.5}", "1", "home/1/answer", "id 7", "application/json",
                    ])
                #expect(parts.count == 8 && parts[6].contains("unit:°C") && parts[6].contains("n:1"))
                #expect((1...3600).contains(Int(parts.last ?? "") ?? 0), "the expiry that is left")
                // As Home Assistant removes a device.
                try await client.publish(MQTTMessage("home/1/state", [], retain: true), within: .seconds(60))
                try await client.publish(MQTTMessage("home/2/state", text: "on", retain: true), within: .seconds(60))
                #expect(try await broker.read(["home/+/state"], count: 1) == ["home/2/state on 1"])
                await client.shutDown()
            }
        }

        @Test func `what is published before there is a broker is sent later, of retained messages the last`()
            async throws
        {
            let (broker, clock) = (try TestBroker(), ManualClock())
            let client = try MQTTClient.make(broker.address, clock: clock) { $0.backoff = .standard }
            await client.start()
            #expect(try await client.reachError()?.code == .unreachable)
            for number in 0..<100 {
                try await client.publish(MQTTMessage("state", text: "\(number)", retain: true))
                try await client.publish(MQTTMessage("event", text: "\(number)"))
            }
            #expect(await client.statistics.queued == 101)
            try await broker.run { mosquitto in
                let subscriber = broker.subscriber(["#"], count: 101, format: "%p")
                let result = try await subscriber.run { running in
                    // Connected, before anything is sent.
                    try await mosquitto.untilSubscribed("#")
                    clock.advance(by: .seconds(30))
                    try await client.reachConnected()
                }
                #expect(result.output.split(separator: "\n").map(String.init) == ["99"] + (0..<100).map { "\($0)" })
                let statistics = await client.statistics
                #expect(statistics.sent == 101 && statistics.replaced == 99 && statistics.dropped == 0)
                await client.shutDown()
            }
        }

        @Test(arguments: [MQTTMessage.QoS.atMostOnce, .atLeastOnce])
        func `10,000 messages arrive in order`(qos: MQTTMessage.QoS) async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let (sender, receiver) = (try MQTTClient.make(broker.address), try MQTTClient.make(broker.address))
                let stream = try await receiver.read("numbers/#", qos: qos, capacity: 20_000)
                await receiver.start()
                try await mosquitto.untilSubscribed("numbers/#")
                await sender.start()
                try await sender.reachConnected()
                for number in 0..<10_000 {
                    try await sender.publish(MQTTMessage("numbers/\(number % 7)", text: "\(number)", qos: qos))
                }
                #expect(try await stream.next(10_000) == (0..<10_000).map { "\($0)" })
                #expect(stream.droppedCount == 0)
                await sender.shutDown()
                #expect(await sender.statistics.sent == 10_000)
                #expect(await receiver.statistics.received == 10_000)
                await receiver.shutDown()
            }
        }

        @Test func `the queue is bounded while the broker stands still, and all that it holds arrives`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let (client, receiver) = (
                    try MQTTClient.make(broker.address) { $0.queue = MQTTClient.QueueLimits(count: 500) },
                    try MQTTClient.make(broker.address)
                )
                let stream = try await receiver.read("a", capacity: 10_000)
                await receiver.start()
                try await mosquitto.untilSubscribed("a")
                await client.start()
                try await client.reachConnected()
                mosquitto.send(.suspend)
                for number in 0..<5000 { try await client.publish(MQTTMessage("a", text: "\(number)")) }
                var statistics = await client.statistics
                #expect(statistics.queued == 500)
                #expect(statistics.sent + statistics.dropped == 4500)
                mosquitto.send(.resume)
                let texts = try await stream.next(statistics.sent + 500)
                #expect(texts.suffix(500) == (4500..<5000).map { "\($0)" })
                await client.shutDown()
                statistics = await client.statistics
                #expect(statistics.queued == 0 && statistics.sent == texts.count)
                await receiver.shutDown()
            }
        }

        @Test func `a broker that stands still is noticed by the keep-alive, and what was sent is sent again`()
            async throws
        {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address) { $0.keepAlive = .seconds(5) }
                await client.start()
                try await client.reachConnected()
                mosquitto.send(.suspend)
                try await client.publish(MQTTMessage("a", text: "1", retain: true))
                // Takes 10 s: libmosquitto has a clock of its own.
                #expect(try await client.reachError()?.code == .connectionLost)
                mosquitto.send(.resume)
                #expect(try await broker.read(["a"], count: 1, format: "%t %p") == ["a 1"])
                await client.shutDown()
                #expect(await client.statistics.reconnects >= 1)
            }
        }

        @Test func `the wait for an acknowledgment ends at its deadline, and when its task is cancelled`() async throws
        {
            let (broker, clock) = (try TestBroker(), ManualClock())
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address, clock: clock)
                await client.start()
                try await client.reachConnected()
                mosquitto.send(.suspend)
                async let late = code { try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(7)) }
                await clock.sleepers(1, for: .seconds(7))
                clock.advance(by: .seconds(7))
                #expect(await late == .timedOut)
                let task = Task {
                    await code { try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(9)) }
                }
                await clock.sleepers(1, for: .seconds(9))
                task.cancel()
                #expect(await task.value == .cancelled)
            }
        }

        @Test func `a message that the broker does not accept is dropped with an error`() async throws {
            let broker = try TestBroker()
            try await broker.run(["allow_anonymous true", "max_packet_size 1000"]) { mosquitto in
                let client = try MQTTClient.make(broker.address)
                await client.start()
                let large = MQTTMessage("a", [UInt8](repeating: 0, count: 2000), qos: .atLeastOnce)
                #expect(await code { try await client.publish(large, within: .seconds(60)) } == .tooLarge)
                try await client.publish(MQTTMessage("a", text: "1"), within: .seconds(60))
                let statistics = await client.statistics
                #expect(statistics.sent == 1 && statistics.dropped == 1)
                #expect(await code { try await client.publish(MQTTMessage("a/#", [])) } == .invalidArgument)
                await client.shutDown()
            }
        }
    }
#endif
