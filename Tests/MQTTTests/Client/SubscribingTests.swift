#if Gateway
    import BLE
    import BLETestSupport
    import BlueZTestSupport
    import MQTT
    import Testing

    @Suite(.hangLimit, .startsProcesses) struct SubscribingTests {
        @Test func `a message reaches each reader of each matching filter once`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                let filters = ["cmd/#", "cmd/+/read", "cmd/1/read", "#", "cmd/+/write"]
                var streams: [MessageReader] = []
                for filter in filters + ["cmd/#"] { streams.append(try await client.read(filter)) }
                await client.start()
                for filter in filters { try await mosquitto.untilSubscribed(filter) }
                for number in 0..<5 { try await broker.publish("cmd/1/read", "\(number)") }
                try await broker.publish("end", "end")
                for (index, stream) in streams.enumerated() where index != 4 {
                    #expect(try await stream.next(5) == (0..<5).map { "\($0)" })
                }
                #expect(try await streams[3].next(1) == ["end"])
                await client.shutDown()
                for stream in streams { #expect(try await stream.next(1) == [], "nothing twice") }
            }
        }

        @Test func `a message arrives with its properties`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                let stream = try await client.read("cmd")
                await client.start()
                let properties = [
                    ["correlation-data", "id 7"], ["response-topic", "answer"], ["content-type", "text/plain"],
                    ["message-expiry-interval", "3600"],
                ]
                try await broker.publish(
                    "cmd", "read",
                    options: ["-r"] + properties.flatMap { ["-D", "publish"] + $0 }
                        + ["-D", "publish", "user-property", "a", "b", "-D", "publish", "user-property", "c", "d"])
                let message = try #require(try await stream.nextMessage())
                #expect(message.text == "read" && message.topic == "cmd")
                #expect(message.correlationData == Array("id 7".utf8) && message.responseTopic == "answer")
                #expect(message.contentType == "text/plain")
                #expect((.seconds(1) ... .seconds(3600)).contains(message.expiry ?? .zero))
                #expect(
                    message.userProperties
                        == [MQTTMessage.UserProperty("a", "b"), MQTTMessage.UserProperty("c", "d")])
                await client.shutDown()
            }
        }

        @Test func `a later reader gets the retained messages, and the last one ends the subscription`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                await client.start()
                try await client.publish(MQTTMessage("s/1", text: "on", retain: true), within: .seconds(60))
                for _ in 0..<2 {
                    var streams: [MessageReader] = []
                    for _ in 0..<3 {
                        streams.append(try await client.read("s/+"))
                        #expect(try await streams.last?.next(1) == ["on"])
                    }
                    streams.removeAll()
                }
                try await mosquitto.errors.until(count: 2, "Received UNSUBSCRIBE")
                await client.shutDown()
            }
        }

        @Test func `a reader that does not read loses the oldest messages, and these are counted`() async throws {
            let broker = try TestBroker()
            try await broker.run { mosquitto in
                let client = try MQTTClient.make(broker.address)
                let slow = try await client.read("n", capacity: 10)
                let fast = try await client.read("n", capacity: 1000)
                let end = try await client.read("end")
                await client.start()
                for filter in ["n", "end"] { try await mosquitto.untilSubscribed(filter) }
                for number in 0..<100 { try await client.publish(MQTTMessage("n", text: "\(number)")) }
                try await client.publish(MQTTMessage("end", text: "end"))
                // Any reader may be the first to get a message; when this one comes, each has got those before.
                #expect(try await end.next(1) == ["end"])
                #expect(try await fast.next(100).count == 100)
                #expect(try await slow.next(10) == (90..<100).map { "\($0)" })
                #expect(slow.droppedCount == 90)
                await client.shutDown()
            }
        }
    }
#endif
