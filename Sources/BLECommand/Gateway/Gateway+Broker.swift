import BLE
import BLEDefinitions
import FoundationEssentials
import Synchronization

/// What a gateway hears from the broker.
extension Gateway {
    /// The longest pause before everything is published again because Home Assistant has started: many gateways should
    /// not do so at once.
    private static let homeAssistantPause = 3.0

    /// Subscribes, begins to connect, and returns the events of the connection.
    func startBroker() async -> AsyncStream<BrokerEvent> {
        broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
        var filters = ["\(topics.prefix)/device/+/command", topics.own("+")]
        if let topic = topics.homeAssistantState { filters.append(topic) }
        if configuration.isFleet { filters.append(topics.states) }
        await broker.subscribe(filters)
        return broker.events()
    }

    func followBroker(_ events: AsyncStream<BrokerEvent>) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.followInterests() }
            // In one order: what a connection brings belongs to that connection.
            for await event in events {
                switch event {
                case .connected:
                    state.withLock { $0.connection = "connected" }
                    broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
                    publish { $0.setConnected(true, at: $1) }
                    note("connected to the broker")
                case .disconnected(let reason):
                    state.withLock { $0.connection = reason.excerpt }
                    publish { $0.setConnected(false, at: $1) }
                    note("no connection to the broker: \(reason)")
                case .message(let message): take(message, &group)
                case .subscribed(let topic): listens(to: topic)
                case .refused(let reason): note(reason)
                }
            }
            group.cancelAll()
        }
    }

    /// The maximum number of topics about devices: the broker may have those of strangers.
    private static let topicLimit = 50_000

    private func followInterests() async {
        // Those of the list are always listened to: their commands are known without a sighting.
        let listed = Set(configuration.isFleet ? list.devices.map(topics.origin) : [])
        await broker.subscribe(listed.sorted())
        var subscribed = listed
        for await (topic, isWanted) in interests {
            if isWanted {
                guard subscribed.count < Self.topicLimit, subscribed.insert(topic).inserted else { continue }
                await broker.subscribe([topic])
            } else if !listed.contains(topic), subscribed.remove(topic) != nil {
                await broker.unsubscribe([topic])
            }
        }
    }

    /// What the broker keeps for a topic follows.
    private func listens(to topic: String) {
        state.withLock { state in
            if topic == topics.states {
                state.table.listens(at: elapsed())
            } else if let (device, _) = topics.sighting(in: topic) {
                // Its origin was asked for before.
                state.table.listens(to: device, at: elapsed())
            }
        }
    }

    private func take(_ message: ReceivedMessage, _ group: inout DiscardingTaskGroup) {
        if message.topic == topics.homeAssistantState {
            republish(message, &group)
        } else if let device = topics.device(in: message.topic, "origin") {
            takeOrigin(message, device)
        } else if let device = topics.device(in: message.topic, "command") {
            takeCommand(message, device, &group)
        } else if let device = topics.own(in: message.topic) {
            // Its origin tells whether this gateway still publishes it.
            guard message.isRetained, !message.payload.isEmpty else { return }
            let isNew = state.withLock { state in
                state.leftovers.count < Self.topicLimit && state.leftovers.insert(device).inserted
            }
            if isNew { interest.yield((topics.origin(device), true)) }
        } else if let (device, other) = topics.sighting(in: message.topic) {
            let sighting = Fleet.Sighting(message.payload)
            publish { $0.take(sighting, of: device, from: other, at: $1) }
        } else if let other = topics.gateway(in: message.topic) {
            let isOnline = message.payload == Array("online".utf8)
            state.withLock { $0.table.setOnline(isOnline, other, at: elapsed()) }
            // The will of an earlier connection.
            if other == topics.gateway, !isOnline {
                broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
            }
        }
    }

    /// Publishes everything some seconds after Home Assistant has started.
    private func republish(_ message: ReceivedMessage, _ group: inout DiscardingTaskGroup) {
        guard message.payload == Array("online".utf8), !message.isRetained else { return }
        let isFirst = state.withLock { state in
            defer { state.isRepublishing = true }
            return !state.isRepublishing
        }
        guard isFirst else { return }
        let pause = Duration.seconds(Double.random(in: 0...Self.homeAssistantPause))
        group.addTask {
            try? await self.clock.sleep(for: pause)
            self.state.withLock { $0.isRepublishing = false }
            guard !Task.isCancelled else { return }
            self.publish { $0.everything(at: $1) }
        }
    }

    // MARK: What an earlier run has published

    /// Removes a device that this gateway has published for an entry that it no longer has. One that was not heard
    /// since the start is unavailable.
    private func takeOrigin(_ message: ReceivedMessage, _ device: String) {
        guard !message.payload.isEmpty else { return publish { $0.setOwner(nil, of: device, at: $1) } }
        guard let origin = origin(message.payload) else { return }
        publish { $0.setOwner(origin.gateway, of: device, at: $1) }
        let isLeftover = state.withLock { $0.leftovers.remove(device) != nil }
        guard message.isRetained else { return }
        guard origin.gateway == topics.gateway else {
            // Another one has taken it over while this gateway was away.
            if isLeftover { broker.publish(GatewayMessage(topic: topics.own(device), payload: "")) }
            return
        }
        if list.peripheral(device) != nil || list.entry(origin.entry)?.mayHave(topic: device) == true {
            publish { table, _ in table.missing(device) }
        } else if peripheral(device) == nil {
            note("\(device.excerpt) is no longer listed")
            for message in DeviceTable.removal(of: device, topics) { broker.publish(message) }
        }
    }

    /// Reads an origin. Nil for anything else.
    private func origin(_ payload: [UInt8]) -> (gateway: String, entry: String)? {
        guard payload.count <= 1000, case .object(let origin)? = try? JSONReader.read(Data(payload)),
            case .string(let gateway)? = origin["gateway"], case .string(let entry)? = origin["entry"]
        else { return nil }
        return (gateway, entry)
    }
}
