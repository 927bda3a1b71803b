import BLE
import FoundationEssentials
import Synchronization

/// Publishes the listed devices on a broker, and performs the commands that come from there.
///
/// An advertisement goes from the scan to the ``DeviceTable``, which decides what is published; so does a value of a
/// link. The loss of Bluetooth or of the broker does not end the gateway: each comes back by itself. A refusal by the
/// system (`unauthorized`) does.
final class Gateway: Sendable {
    private let configuration: GatewayConfiguration
    private let list: DeviceList
    private let topics: GatewayTopics
    private let broker: any GatewayBroker
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    /// The service manager that is told how the gateway does.
    private let service: ServiceManager?
    /// Tells people what happens.
    private let note: @Sendable (String) -> Void
    private let state: Mutex<State>
    /// Tells that a change waits.
    private let (waiting, waits) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The topics about devices to listen to from now on, or no longer.
    private let (interests, interest) = AsyncStream.makeStream(of: (topic: String, isWanted: Bool).self)

    private struct State {
        var table: DeviceTable
        var central: Central?
        /// The connection to the broker, in words.
        var connection = "connecting"
        /// The commands that wait or run, by device. Those of one device are performed in order.
        var commands: [String: [ReceivedMessage]] = [:]
        /// The number of commands that subscribe, by device. They run beside the others.
        var subscriptions: [String: Int] = [:]
        /// Whether everything will be published because Home Assistant has started.
        var isRepublishing = false
        /// The devices that this gateway has published before, until their origins are known.
        var leftovers: Set<String> = []
        /// Tells whether there may be a link to a device, in a fleet.
        var links: [String: AsyncStream<Bool>.Continuation] = [:]
    }

    /// The maximum numbers of commands that wait or run, for one device and of all devices with commands.
    private static let commandLimit = 8
    private static let commandedDeviceLimit = 64
    /// The longest pause before everything is published again because Home Assistant has started: many gateways should
    /// not do so at once.
    private static let homeAssistantPause = 3.0

    init(
        _ configuration: GatewayConfiguration, broker: any GatewayBroker, clock: any Clock<Duration>,
        service: ServiceManager? = nil, note: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        list = DeviceList(configuration.devices)
        topics = GatewayTopics(configuration)
        self.broker = broker
        self.clock = clock
        elapsed = CommandClock.elapsed(clock)
        self.service = service
        self.note = note
        state = Mutex(State(table: DeviceTable(GatewayTopics(configuration), isFleet: configuration.isFleet)))
    }

    /// Runs until the task is cancelled, and then tells the broker that the gateway is offline.
    ///
    /// - Parameter open: creates the central, and waits until Bluetooth is available.
    func run(_ open: @escaping @Sendable () async throws -> Central) async throws {
        let events = await startBroker()
        let result: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { await self.followBroker(events) }
                group.addTask { try await self.followBluetooth(open) }
                group.addTask { try await self.passTime() }
                group.addTask { try await self.publishWaiting() }
                if let service { group.addTask { try await self.report(to: service) } }
                // None ends by itself.
                try await group.next()
                group.cancelAll()
            }
            result = .success(())
        } catch {
            // The end that was asked for is no error.
            result = Task.isCancelled ? .success(()) : .failure(error)
        }
        // In a task of its own, because this one may be cancelled.
        await Task {
            broker.publish(GatewayMessage(topic: topics.state, payload: "offline"))
            await broker.shutDown()
        }.value
        try result.get()
    }

    /// Changes the table, and publishes what follows. Of two changes, what follows from the first is published first.
    private func publish(_ change: (inout DeviceTable, Duration) -> [GatewayMessage]) {
        let isWaiting = state.withLock { state in
            for message in change(&state.table, elapsed()) { broker.publish(message) }
            let consequences = state.table.takeConsequences()
            for (device, isFollowed) in consequences.followed {
                interest.yield((topics.origin(device), isFollowed))
                interest.yield((topics.sightings(device), isFollowed))
            }
            for (device, isAllowed) in consequences.links { state.links[device]?.yield(isAllowed) }
            return state.table.isWaiting
        }
        if isWaiting { waits.yield() }
    }

    /// Publishes the changes that come too soon after others.
    private func publishWaiting() async throws {
        for await _ in waiting {
            try await clock.sleep(for: DeviceTable.minimumInterval)
            publish { $0.pass(to: $1) }
        }
        try Task.checkCancellation()
    }

    /// Notices silent devices, and publishes what has not changed for long.
    private func passTime() async throws {
        let shortest = list.all.map(\.expiry).min() ?? .seconds(60)
        let pause = min(max(shortest / 10, .seconds(1)), .seconds(10))
        while true {
            try await clock.sleep(for: pause)
            publish { $0.pass(to: $1) }
            for text in state.withLock({ $0.table.notes(at: elapsed()) }) { note(text) }
        }
    }

    // MARK: The service manager

    /// Tells the service manager that the gateway is ready, that it lives, what its status is, and that it ends.
    ///
    /// What all work needs comes before each message: the lock, with a change of the table, a turn of the broker's
    /// client, and one of the central. A gateway in which one of them hangs is silent, and the service manager starts
    /// it again.
    private func report(to service: ServiceManager) async throws {
        var report = ServiceReport(watchdogInterval: service.watchdogInterval)
        // The end of this task is the beginning of the gateway's.
        defer { _ = service.send("STOPPING=1") }
        while true {
            publish { $0.pass(to: $1) }
            await broker.waitForTurn()
            let status = await status()
            try await clock.sleep(for: report.report(status, at: elapsed(), service.send))
        }
    }

    private func status() async -> String {
        let (central, connection, count) = state.withLock { ($0.central, $0.connection, $0.table.count) }
        let bluetooth =
            switch await central?.adapterState {
            case .poweredOn: "on"
            case .poweredOff: "the adapter is off"
            case .unavailable: "there is no adapter"
            case .resetting: "bluetoothd or the bus has stopped"
            case nil: "not available yet"
            }
        return "broker: \(connection); Bluetooth: \(bluetooth); \(count) device\(count == 1 ? "" : "s")"
    }

    // MARK: Bluetooth

    private func followBluetooth(_ open: @Sendable () async throws -> Central) async throws {
        let central = try await open()
        state.withLock { $0.central = central }
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.scan(central) }
                for device in self.list.all where device.hasLink {
                    guard case .address(let id) = device.match else { continue }
                    group.addTask { try await self.followWhileAllowed(central.peripheral(id), device) }
                }
                try await group.waitForAll()
            }
        } catch {
            await Task { await central.shutDown() }.value
            throw error
        }
    }

    private func scan(_ central: Central) async throws {
        let events = central.discoveryEvents(duplicates: true, staleAfter: nil, tolerance: .milliseconds(100))
        while true {
            do throws(BLEError) {
                for try await event in events {
                    switch event {
                    case .found(let found), .updated(let found): hear(found.id, found.advertisement)
                    case .waiting(let error): note("waiting: \(error.message)")
                    case .lost: break
                    }
                }
            } catch {
                guard !Task.isCancelled, error.code != .unauthorized else { throw error }
                note("the scan ended: \(error.message)")
            }
            try await clock.sleep(for: Self.retryPause)
        }
    }

    /// Takes an advertisement.
    func hear(_ peripheral: Peripheral.ID, _ advertisement: Advertisement) {
        guard let device = list.entry(of: peripheral, advertisement) else { return }
        publish { $0.hear(peripheral, device, advertisement, at: $1) }
    }

    /// Whether this gateway publishes a device.
    func publishes(_ device: String) -> Bool { state.withLock { $0.table.isPublished(device) } }

    /// The pause before something is tried again that the library does not try again itself.
    private static let retryPause: Duration = .seconds(5)

    /// Maintains a link, in a fleet only while this gateway owns the device.
    private func followWhileAllowed(_ peripheral: Peripheral, _ device: ListedDevice) async throws {
        guard configuration.isFleet else { return try await follow(peripheral, device) }
        let id = GatewayTopics.device(peripheral.id)
        let (changes, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.links[id] = continuation
            continuation.yield(state.table.mayLink(id, at: elapsed()))
        }
        await noteBond(of: peripheral)
        for await isAllowed in changes where isAllowed {
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.follow(peripheral, device) }
                group.addTask { for await isAllowed in changes where !isAllowed { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
            try Task.checkCancellation()
            try await peripheral.setConnectionPolicy(.manual)
            do {
                try await peripheral.disconnect()
            } catch {
                note("\(device.key): the link for another gateway could not be ended: \(error.message)")
            }
            publish { $0.setConnected(false, peripheral.id, device, at: $1) }
        }
        try Task.checkCancellation()
    }

    /// A gateway whose machine is bonded with a device is preferred.
    private func noteBond(of peripheral: Peripheral) async {
        guard configuration.isFleet, let isPaired = try? await peripheral.isPaired else { return }
        state.withLock { $0.table.setBonded(isPaired, peripheral.id) }
    }

    /// Maintains a link, and publishes its values.
    private func follow(_ peripheral: Peripheral, _ device: ListedDevice) async throws {
        try await peripheral.setConnectionPolicy(.maintained())
        try await withThrowingTaskGroup { group in
            group.addTask {
                for try await state in await peripheral.connectionStates() {
                    let isConnected = state == .connected
                    self.publish { $0.setConnected(isConnected, peripheral.id, device, at: $1) }
                    if isConnected { await self.noteBond(of: peripheral) }
                }
            }
            group.addTask {
                var told = ToldTexts()
                // What a device lacks, it also lacks on the next link.
                func noteOnce(_ text: String) {
                    if told.insert(text, at: self.elapsed()) { self.note("\(device.key.excerpt): \(text)") }
                }
                while true {
                    do {
                        let values = try await peripheral.values(
                            try await device.declaredValues(of: peripheral, noteOnce))
                        for (key, error) in values.failures where values[key] == nil {
                            noteOnce("\(key.characteristic): \(error.message)")
                        }
                        for try await change in values.changes() {
                            guard let value = change.new else { continue }
                            let fields = device.fields(of: value, change.key)
                            self.publish { $0.take(fields, from: peripheral.id, device, at: $1) }
                        }
                    } catch {
                        guard !Task.isCancelled else { throw error }
                        noteOnce((error as? BLEError)?.message ?? "\(error)")
                    }
                    try await self.clock.sleep(for: Self.retryPause)
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: The broker

    /// Subscribes, begins to connect, and returns the events of the connection.
    private func startBroker() async -> AsyncStream<BrokerEvent> {
        broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
        var filters = ["\(topics.prefix)/device/+/command", topics.own("+")]
        if let topic = topics.homeAssistantState { filters.append(topic) }
        if configuration.isFleet { filters.append(topics.states) }
        await broker.subscribe(filters)
        return broker.events()
    }

    private func followBroker(_ events: AsyncStream<BrokerEvent>) async {
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
            state.withLock { state in
                if state.leftovers.count < Self.topicLimit { state.leftovers.insert(device) }
            }
            interest.yield((topics.origin(device), true))
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
        let key = origin.entry
        let isListed = list.all.contains { $0.key == key && $0.mayHave(topic: device) }
        if list.peripheral(device) != nil || isListed {
            publish { table, _ in table.missing(device) }
        } else if peripheral(device) == nil {
            note("\(device.excerpt) is no longer listed")
            for message in DeviceTable.removal(of: device, topics) { broker.publish(message) }
        }
    }

    /// Reads an origin. Nil if it is none, or empty.
    private func origin(_ payload: [UInt8]) -> (gateway: String, entry: String)? {
        guard payload.count <= 1000, case .object(let origin)? = try? JSONReader.read(Data(payload)),
            case .string(let gateway)? = origin["gateway"], case .string(let entry)? = origin["entry"]
        else { return nil }
        return (gateway, entry)
    }

    // MARK: Commands

    private func takeCommand(_ message: ReceivedMessage, _ device: String, _ group: inout DiscardingTaskGroup) {
        var message = message
        // Here, because a task that is cancelled reads no JSON.
        message.commandID = DeviceCommand.id(message.payload)
        // A retained command would be performed again after each connection. A device that is not listed here may be
        // that of another gateway.
        guard !message.isRetained, !message.payload.isEmpty, let id = peripheral(device),
            state.withLock({ state in
                let isListed = list.peripheral(device) != nil
                return state.table.performsCommands(device, isListed: isListed, at: elapsed())
            })
        else { return }
        if (try? DeviceCommand(message.payload))?.isSubscription == true {
            return takeSubscription(message, device, id, &group)
        }
        let place = state.withLock { state -> Int? in
            guard state.commands.count < Self.commandedDeviceLimit || state.commands[device] != nil,
                state.commands[device, default: []].count < Self.commandLimit
            else { return nil }
            state.commands[device, default: []].append(message)
            return state.commands[device]?.count
        }
        guard let place else {
            return answer(message, device, .failure(BLEError(.busy, "too many commands wait")))
        }
        guard place == 1 else { return }
        group.addTask {
            var next: ReceivedMessage? = message
            while let message = next {
                self.answer(message, device, await self.perform(message, on: id, of: device))
                next = self.state.withLock { state in
                    state.commands[device]?.removeFirst()
                    if state.commands[device]?.isEmpty == true { state.commands[device] = nil }
                    return state.commands[device]?.first
                }
            }
        }
    }

    /// Takes a command that goes on for some time, while others for its device are performed.
    private func takeSubscription(
        _ message: ReceivedMessage, _ device: String, _ id: Peripheral.ID, _ group: inout DiscardingTaskGroup
    ) {
        let hasRoom = state.withLock { state in
            guard state.subscriptions.count < Self.commandedDeviceLimit || state.subscriptions[device] != nil,
                state.subscriptions[device, default: 0] < Self.commandLimit
            else { return false }
            state.subscriptions[device, default: 0] += 1
            return true
        }
        guard hasRoom else {
            return answer(message, device, .failure(BLEError(.busy, "too many subscriptions run")))
        }
        group.addTask {
            self.answer(message, device, await self.perform(message, on: id, of: device))
            self.state.withLock { state in
                let rest = state.subscriptions[device, default: 1] - 1
                state.subscriptions[device] = rest == 0 ? nil : rest
            }
        }
    }

    private func perform(_ message: ReceivedMessage, on id: Peripheral.ID, of device: String) async
        -> Result<[String: JSON], BLEError>
    {
        do {
            let command = try DeviceCommand(message.payload)
            guard let central = state.withLock({ $0.central }) else {
                throw BLEError(.bluetoothUnavailable, "Bluetooth is not available yet")
            }
            let (clock, entry) = (clock, list.all.first { $0.match == .address(id) })
            return .success(
                try await central.peripheral(id).withConnection { peripheral in
                    try await command.perform(on: peripheral, entry, clock: clock) { self.answer(message, device, $0) }
                })
        } catch {
            return .failure(error as? BLEError ?? BLEError(.failed, "\(error)"))
        }
    }

    /// Returns the peripheral of a listed device: one with a listed address, or one that has been heard.
    private func peripheral(_ device: String) -> Peripheral.ID? {
        list.peripheral(device) ?? state.withLock { $0.table.peripheral(device) }
    }

    private func answer(_ message: ReceivedMessage, _ device: String, _ result: Result<[String: JSON], BLEError>) {
        var object: [String: JSON]
        switch result {
        case .success(let values):
            object = values
            object["ok"] = true
        case .failure(let error):
            object = ["ok": false, "error": .string("\(error.code)"), "message": .string(error.message)]
        }
        answer(message, device, object)
    }

    private func answer(_ message: ReceivedMessage, _ device: String, _ content: [String: JSON]) {
        var object = content
        if let id = message.commandID { object["id"] = .string(id) }
        let wanted = message.responseTopic.flatMap { topics.isOwn($0) ? nil : $0 }
        broker.publish(
            GatewayMessage(
                topic: wanted ?? topics.result(device), payload: JSON.object(object).text,
                isRetained: false, correlation: message.correlation))
    }
}
