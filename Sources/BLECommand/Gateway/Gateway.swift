import BLE
import Synchronization

/// Publishes the listed devices on a broker, and performs the commands that come from there.
///
/// An advertisement goes from the scan to the ``DeviceTable``, which decides what is published; so does a value of a
/// link. The loss of Bluetooth or of the broker does not end the gateway: each comes back by itself. A refusal by the
/// system (`unauthorized`) does.
final class Gateway: Sendable {
    let configuration: GatewayConfiguration
    let list: DeviceList
    let topics: GatewayTopics
    let broker: any GatewayBroker
    let clock: any Clock<Duration>
    /// Which peripherals to connect to, of each entry that stands for many, by the entry's key.
    let places: [String: AutoConnectorLoop<Peripheral.ID>]
    let elapsed: @Sendable () -> Duration
    /// The service manager that is told how the gateway does.
    private let service: ServiceManager?
    /// Takes each state that is published, for a history.
    private let record: @Sendable (DeviceState) -> Void
    /// Tells people what happens.
    let note: @Sendable (String) -> Void
    let state: Mutex<State>
    /// Tells that a change waits.
    private let (waiting, waits) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The topics about devices to listen to from now on, or no longer. At most two for each device, and one for each
    /// that was published before, wait here: both are limited.
    let (interests, interest) = AsyncStream.makeStream(of: (topic: String, isWanted: Bool).self)

    struct State {
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
        /// What people were told of links, by the key of the entry.
        var told: [String: ToldTexts] = [:]
    }

    init(
        _ configuration: GatewayConfiguration, broker: any GatewayBroker, clock: any Clock<Duration>,
        service: ServiceManager? = nil, record: @escaping @Sendable (DeviceState) -> Void = { _ in },
        note: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        list = DeviceList(configuration.devices)
        places = Dictionary(
            uniqueKeysWithValues: configuration.devices.filter { $0.standsForMany && $0.hasLink }.map {
                ($0.key, AutoConnectorLoop(AutoConnector(limit: $0.links, settling: .seconds(1))))
            })
        topics = GatewayTopics(configuration)
        self.broker = broker
        self.clock = clock
        elapsed = CommandClock.elapsed(clock)
        self.service = service
        self.record = record
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
    func publish(_ change: (inout DeviceTable, Duration) -> [GatewayMessage]) {
        let isWaiting = state.withLock { state in
            for message in change(&state.table, elapsed()) { broker.publish(message) }
            let consequences = state.table.takeConsequences()
            for (device, isFollowed) in consequences.followed {
                interest.yield((topics.origin(device), isFollowed))
                interest.yield((topics.sightings(device), isFollowed))
            }
            for (device, isAllowed) in consequences.links { state.links[device]?.yield(isAllowed) }
            for state in consequences.states { record(state) }
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
            case .resetting: await central?.adapterObstacle?.message.harmless ?? "Bluetooth has stopped"
            case nil: "not available yet"
            }
        return "broker: \(connection); Bluetooth: \(bluetooth); \(count) device\(count == 1 ? "" : "s")"
    }
}
