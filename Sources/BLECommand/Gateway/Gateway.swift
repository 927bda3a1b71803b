import BLE
import FoundationEssentials
import Synchronization

/// Publishes the listed devices on a broker, and performs the commands that come from there.
///
/// An advertisement goes from the scan to the ``DeviceTable``, which decides what is published; so does a value of a
/// link. Nothing that happens to Bluetooth or to the broker ends the gateway: each comes back by itself.
final class Gateway: Sendable {
    private let configuration: GatewayConfiguration
    private let list: DeviceList
    private let topics: GatewayTopics
    private let broker: any GatewayBroker
    private let clock: any Clock<Duration>
    private let elapsed: @Sendable () -> Duration
    /// Tells people what happens.
    private let note: @Sendable (String) -> Void
    private let state: Mutex<State>
    /// Tells that a change waits.
    private let (waiting, waits) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    private struct State {
        var table: DeviceTable
        var central: Central?
        /// The number of commands that run.
        var commands = 0
    }

    /// The number of commands that may run at a time. Further ones are refused.
    private static let commandLimit = 16
    /// The longest pause before everything is published again because Home Assistant has started: many gateways should
    /// not do so at once.
    private static let homeAssistantPause = 3.0

    init(
        _ configuration: GatewayConfiguration, broker: any GatewayBroker, clock: any Clock<Duration>,
        note: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        list = DeviceList(configuration.devices)
        topics = GatewayTopics(configuration)
        self.broker = broker
        self.clock = clock
        elapsed = CommandClock.elapsed(clock)
        self.note = note
        state = Mutex(State(table: DeviceTable(GatewayTopics(configuration))))
    }

    /// Runs until the task is cancelled, and then tells the broker that the gateway is offline.
    ///
    /// - Parameter open: creates the central, and waits until Bluetooth is available.
    func run(_ open: @escaping @Sendable () async throws -> Central) async throws {
        let result: Result<Void, any Error>
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { await self.followBroker() }
                group.addTask { try await self.followBluetooth(open) }
                group.addTask { try await self.passTime() }
                group.addTask { try await self.publishWaiting() }
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
        }
    }

    // MARK: Bluetooth

    private func followBluetooth(_ open: @Sendable () async throws -> Central) async throws {
        let central = try await open()
        state.withLock { $0.central = central }
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await self.scan(central) }
                for device in self.list.all where !device.values.isEmpty {
                    guard case .address(let id) = device.match else { continue }
                    group.addTask { try await self.follow(central.peripheral(id), device) }
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
                    case .found(let found), .updated(let found):
                        guard let device = list.entry(of: found.id, found.advertisement) else { continue }
                        publish { $0.hear(found.id, device, found.advertisement, at: $1) }
                    case .waiting(let error): note("waiting: \(error.message)")
                    case .lost: break
                    }
                }
            } catch {
                guard !error.isCancellation, error.code != .unauthorized else { throw error }
                note("the scan ended: \(error.message)")
            }
            try await clock.sleep(for: Self.retryPause)
        }
    }

    /// The pause before something is tried again that the library does not try again itself.
    private static let retryPause: Duration = .seconds(5)

    /// Maintains a link, and publishes its values.
    private func follow(_ peripheral: Peripheral, _ device: ListedDevice) async throws {
        try await peripheral.setConnectionPolicy(.maintained())
        try await withThrowingTaskGroup { group in
            group.addTask {
                for try await state in await peripheral.connectionStates() {
                    let isConnected = state == .connected
                    self.publish { $0.setConnected(isConnected, peripheral.id, device, at: $1) }
                }
            }
            group.addTask {
                while true {
                    do {
                        let declared = device.values.map { DeclaredValue($0, isRead: true, isNotified: true) }
                        let values = try await peripheral.values(declared)
                        for try await change in values.changes() {
                            guard let value = change.new else { continue }
                            let fields = DeviceField.fields(of: value, change.key)
                            self.publish { $0.take(fields, from: peripheral.id, device, at: $1) }
                        }
                    } catch let error as BLEError where !error.isCancellation {
                        self.note("\(device.key): \(error.message)")
                    }
                    try await self.clock.sleep(for: Self.retryPause)
                }
            }
            try await group.waitForAll()
        }
    }

    // MARK: The broker

    private func followBroker() async {
        broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
        var filters = ["\(topics.prefix)/device/+/command", "\(topics.prefix)/device/+/origin"]
        if let topic = topics.homeAssistantState { filters.append(topic) }
        await broker.subscribe(filters)
        await withDiscardingTaskGroup { group in
            for await event in broker.events() {
                switch event {
                case .connected:
                    note("connected to the broker")
                    broker.publish(GatewayMessage(topic: topics.state, payload: "online"))
                    publish { $0.everything(at: $1) }
                case .disconnected(let reason): note("no connection to the broker: \(reason)")
                case .message(let message): await take(message, &group)
                case .refused(let topic, let reason): note("\(topic): \(reason)")
                }
            }
            group.cancelAll()
        }
    }

    private func take(_ message: ReceivedMessage, _ group: inout DiscardingTaskGroup) async {
        if message.topic == topics.homeAssistantState {
            guard message.payload == Array("online".utf8), !message.isRetained else { return }
            let pause = Duration.seconds(Double.random(in: 0...Self.homeAssistantPause))
            group.addTask {
                try? await self.clock.sleep(for: pause)
                guard !Task.isCancelled else { return }
                self.publish { $0.everything(at: $1) }
            }
        } else if let device = topics.device(in: message.topic, "origin") {
            guard isForgotten(device, message.payload) else { return }
            note("\(device) is no longer listed")
            for message in DeviceTable.removal(of: device, topics) { broker.publish(message) }
        } else if let device = topics.device(in: message.topic, "command") {
            // A retained command would be performed again after each connection.
            guard !message.isRetained, !message.payload.isEmpty else { return }
            let isFree = state.withLock { state in
                guard state.commands < Self.commandLimit else { return false }
                state.commands += 1
                return true
            }
            guard isFree else {
                let error = BLEError(.busy, "\(Self.commandLimit) commands are being performed")
                return answer(message, device, nil, .failure(error))
            }
            group.addTask {
                await self.perform(message, device)
                self.state.withLock { $0.commands -= 1 }
            }
        }
    }

    /// Whether this gateway has published a device for an entry that it no longer has.
    private func isForgotten(_ device: String, _ origin: [UInt8]) -> Bool {
        guard origin.count <= 1000, case .object(let origin)? = try? JSONReader.read(Data(origin)),
            origin["gateway"] == .string(topics.gateway), case .string(let key)? = origin["entry"]
        else { return false }
        return !list.all.contains { $0.key == key }
    }

    private func perform(_ message: ReceivedMessage, _ device: String) async {
        var id: String?
        let result: Result<[String: JSON], BLEError>
        do throws(BLEError) {
            let command = try DeviceCommand(message.payload)
            id = command.id
            guard let peripheral = peripheral(device) else {
                throw BLEError(.peripheralNotFound, "\(device.excerpt) is not a listed device")
            }
            guard let central = state.withLock({ $0.central }) else {
                throw BLEError(.bluetoothUnavailable, "Bluetooth is not available yet")
            }
            result = .success(try await command.perform(on: central.peripheral(peripheral)))
        } catch {
            result = .failure(error)
        }
        answer(message, device, id, result)
    }

    /// Returns the peripheral of a listed device: one with a listed address, or one that has been heard.
    private func peripheral(_ device: String) -> Peripheral.ID? {
        for entry in list.all {
            if case .address(let id) = entry.match, GatewayTopics.device(id) == device { return id }
        }
        return state.withLock { $0.table.peripheral(device) }
    }

    private func answer(
        _ message: ReceivedMessage, _ device: String, _ id: String?, _ result: Result<[String: JSON], BLEError>
    ) {
        var object: [String: JSON]
        switch result {
        case .success(let values):
            object = values
            object["ok"] = true
        case .failure(let error):
            object = ["ok": false, "error": .string("\(error.code)"), "message": .string(error.message)]
        }
        if let id { object["id"] = .string(id) }
        broker.publish(
            GatewayMessage(
                topic: message.responseTopic ?? topics.result(device), payload: JSON.object(object).text,
                isRetained: false, correlation: message.correlation))
    }
}
