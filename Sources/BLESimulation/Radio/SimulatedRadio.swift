public import BLE
public import Logging
internal import Synchronization
internal import Waiting

/// A radio in memory, with peripherals from definitions and any number of centrals.
///
/// ```swift
/// let radio = SimulatedRadio(clock: ManualClock())
/// let strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
/// let central = try await Central(backend: .simulated(radio))
/// …
/// await strap.dropLink()
/// ```
///
/// It behaves like bluetoothd and its kernel with the same peripherals, which the suite `BackendContract` verifies.
/// Time passes only on the given clock.
public actor SimulatedRadio {
    /// The clock of the simulation.
    public nonisolated let clock: any Clock<Duration>

    nonisolated let logger: Logger
    /// Whether the logger accepts messages at trace level. Determined once, because it is needed for each value.
    nonisolated let isTracing: Bool
    nonisolated let executor = RadioExecutor()
    /// Runs tasks among the steps of the radio.
    nonisolated let tasks: RadioTaskExecutor

    /// The radio's executor, on which its centrals and hosts also run.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// How long an attempt to connect waits for a peripheral that does not answer: the kernel's 20 s.
    static let connectionTimeout = Duration.seconds(20)

    var peripherals = SimulatedDevices()
    /// The peripherals with a link.
    var linked: Set<Peripheral.ID> = []
    var ports: [Int: Port] = [:]
    /// Those that scan, in the order in which they were opened.
    private(set) var scanners: [Port] = []
    /// The hosts that have a peripheral on this radio.
    var hosts: [Peripheral.ID: Host] = [:]
    /// The adapters of the system, by their ids.
    var adapters = [adapterID: SystemAdapter()]
    var pending: [Int: PendingConnect] = [:]
    /// The next advertisement of each peripheral, by the time since the radio was created.
    var schedule = TimerQueue<Duration, SimulatedDevice>()
    /// Waits for the next advertisement that is due.
    var pacer: Pacer?
    let time: ElapsedTime
    private var lastNumber = 0
    var isRunning = true
    var faults = FaultPlan()
    /// Whether links have connection events, or ever had.
    var hasEvents = false
    /// Whether there are faults or connection events. Asked from anywhere for each request.
    nonisolated let isDisturbed = Atomic(false)
    /// The events that do not go on yet.
    var pauses: [Int: Pause] = [:]
    var faultObservers: [Int: FaultObserver] = [:]
    /// Does what happens by itself at given times.
    package var timeline: Task<Void, Never>?
    /// The peripherals that a system knows from before.
    var remembered: Set<Peripheral.ID> = []
    var advertisingDelaySeed: UInt64?

    /// A central's access to the radio.
    final class Port {
        let number: Int
        let handle: @Sendable (CentralBackendEvent) -> Void
        /// Its adapter, and whether it may not have another.
        var adapter: String
        let isBound: Bool
        let pairing: PairingAgent
        var filter: DiscoveryFilter?
        /// The peripherals that the central knows, and can therefore connect to.
        var known: Set<Peripheral.ID>

        init(
            _ number: Int, _ handle: @escaping @Sendable (CentralBackendEvent) -> Void, _ pairing: PairingAgent,
            adapter: String, isBound: Bool, known: Set<Peripheral.ID>
        ) {
            (self.number, self.handle) = (number, handle)
            (self.adapter, self.isBound) = (adapter, isBound)
            self.pairing = pairing
            self.known = known
        }
    }

    /// A host's access to the radio.
    struct Host {
        let adapter: String
        let handle: @Sendable (PeripheralBackendEvent) -> Void
    }

    /// A central's attempt to connect to a peripheral that does not advertise yet.
    struct PendingConnect {
        let id: Peripheral.ID
        let port: Int
        let outcome: Outcome<Void>
    }

    /// Creates a radio without peripherals, powered on.
    ///
    /// - Parameter logger: receives log messages. At debug level, these are links, changes of the adapter and the
    ///   faults that a test injects; at trace level, also each received advertisement, each request of a central with
    ///   its value, its answer and its duration, and each notified value. By default, that of the task.
    public init(clock: any Clock<Duration> = ContinuousClock(), logger: Logger = .current) {
        self.clock = clock
        time = ElapsedTime(clock)
        let logger = logger.label.isEmpty ? Logger(label: "ble") : logger
        // Log messages of a real clock's time have a time already.
        self.logger = clock is ManualClock ? logger.timed(time) : logger
        isTracing = logger.logLevel <= .trace
        tasks = RadioTaskExecutor(executor)
        (clock as? ManualClock)?.include(executor)
    }

    deinit {
        pacer?.task.cancel()
        timeline?.cancel()
    }

    /// Runs tasks among the steps of the radio: for a task of its own, as in `Task(executorPreference:
    /// radio.taskExecutor) { … }`.
    public nonisolated var taskExecutor: any TaskExecutor { tasks }

    /// Runs `body`, with its `async let` and task groups, among the steps of the radio. Then ``ManualClock/run(for:)``
    /// waits for them, and a test takes the same course each time.
    public nonisolated func run<Value: Sendable>(_ body: () async throws -> Value) async rethrows -> Value {
        try await withTaskExecutorPreference(tasks) { try await body() }
    }

    func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Tests

    /// Adds a peripheral in range, which starts to advertise. A definition without an address gets one.
    ///
    /// - Precondition: The definition's address is a device address that no peripheral of this radio has.
    public func add(
        _ definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks
    ) -> SimulatedPeripheral {
        let id = definition.address.map { Peripheral.ID(rawValue: $0) } ?? unusedID()
        precondition(id.isAddress, "“\(id)” is not a device address, such as F0:F1:F2:F3:F4:F5")
        precondition(peripherals[id] == nil, "the radio already has a peripheral with the address \(id)")
        return add(definition, as: id, pairing)
    }

    /// Adds a peripheral unless another has its address, or a host.
    package func addUnlessTaken(
        _ definition: PeripheralDefinition, pairing: SimulatedPairing
    ) -> SimulatedPeripheral? {
        let id = definition.address.map { Peripheral.ID(rawValue: $0) } ?? unusedID()
        return peripherals[id] == nil && hosts[id] == nil ? add(definition, as: id, pairing) : nil
    }

    /// Adds a peripheral with what happens on its links, unless another has its address.
    ///
    /// - Parameter isKnown: whether the system knows it without a scan, for centrals that are created later.
    package func add(
        _ definition: PeripheralDefinition, isKnown: Bool,
        onLink: @escaping @Sendable (SimulatedPeripheral) async -> Void
    ) {
        guard let peripheral = addUnlessTaken(definition, pairing: .justWorks) else { return }
        if isKnown { remembered.insert(peripheral.id) }
        setOnLink(onLink, peripheral.id)
    }

    private func add(
        _ definition: PeripheralDefinition, as id: Peripheral.ID, _ pairing: SimulatedPairing
    ) -> SimulatedPeripheral {
        var definition = definition
        definition.address = id.rawValue
        peripherals.add(SimulatedDevice(id: id, definition: definition, pairing: pairing))
        accept(definition.channels, id)
        if let device = peripherals[id] { setAdvertisingDelays(of: device) }
        updateAdvertising(id)
        return SimulatedPeripheral(id: id, radio: self)
    }

    /// - Parameter prefix: the first two bytes.
    func unusedID(prefix: String = "C0:00") -> Peripheral.ID {
        while true {
            let number = number()
            let parts = [24, 16, 8, 0].map { Hex.string([UInt8(truncatingIfNeeded: number >> $0)]) }
            let id = Peripheral.ID(rawValue: "\(prefix):\(parts.joined(separator: ":"))")
            if peripherals[id] == nil { return id }
        }
    }

    /// Stops the Bluetooth service, as if bluetoothd crashed.
    public func stop() {
        guard isRunning else { return }
        isRunning = false
        announce(.stackLost(Self.lost))
        for id in adapters.keys.sorted() { announceState(of: id) }
        endEverything(Self.lost)
    }

    /// Restarts the Bluetooth service, without scans and links.
    public func restart() {
        guard !isRunning else { return }
        isRunning = true
        for id in adapters.keys.sorted() { announceState(of: id) }
    }

    static let lost = BLEError(
        .bluetoothLost, "the simulated Bluetooth service has stopped", remedy: "Try again once it is running.")

    func setAdvertising(_ isAdvertising: Bool, _ id: Peripheral.ID) {
        peripherals[id]?.isAdvertising = isAdvertising
        updateAdvertising(id)
        linkPending(id)
    }

    func setOnLink(_ body: @escaping @Sendable (SimulatedPeripheral) async -> Void, _ id: Peripheral.ID) {
        peripherals[id]?.onLink = body
    }

    func setAcceptsLinks(_ acceptsLinks: Bool, _ id: Peripheral.ID) {
        peripherals[id]?.acceptsLinks = acceptsLinks
        linkPending(id)
    }

    func setAdvertisement(_ advertisement: Advertisement, _ id: Peripheral.ID) {
        peripherals[id]?.definition.advertisement = advertisement
        updateAdvertising(id, anew: true)
    }

    func remove(_ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        endLinks(id, Self.linkLost)
        endAdvertising(device)
        failPauses(Self.linkLost) { $0.peripheral == id }
        device.rotation?.cancel()
        // No central can connect to the peripheral any more, so only a useless address would be kept.
        for port in ports.values {
            if device.hasPrivateAddress { port.known = port.known.filter { peripherals[$0] !== device } }
            port.known.remove(id)
        }
        peripherals.remove(id)
    }

    func isConnected(_ id: Peripheral.ID) -> Bool { peripherals[id]?.links.isEmpty == false }

    func subscriberCount(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Int {
        guard let device = peripherals[id] else { return 0 }
        return device.attributes.handles(of: uuid).count { handle in
            device.links.values.contains { $0.subscriptions[handle] != nil }
        }
    }

    /// The centrals that are subscribed to a characteristic.
    func subscribers(of key: CharacteristicKey, _ id: Peripheral.ID) -> [DeviceID] {
        guard let device = peripherals[id], let handle = device.attributes.handle(of: key) else { return [] }
        return device.links.values.filter { $0.subscriptions[handle] != nil }.sorted { $0.number < $1.number }
            .reduce(into: []) { all, link in
                if !all.contains(link.shared.central) { all.append(link.shared.central) }
            }
    }

    func setStrength(_ strength: Int, _ id: Peripheral.ID) {
        peripherals[id]?.definition.advertisement.rssi = strength
        peripherals[id]?.signalStrength = strength
    }

    func play(_ strengths: [(seconds: Double, strength: Int)], _ id: Peripheral.ID) {
        play(strengths.map { ($0.seconds, $0.strength) }) { $0.setStrength($1, id) }
    }

    /// The peripherals of this radio's hosts, in order of their ids, for a test that disturbs them.
    public var hostedPeripherals: [SimulatedPeripheral] {
        hosts.keys.sorted { $0.rawValue < $1.rawValue }.map { SimulatedPeripheral(id: $0, radio: self) }
    }

    func advertisedName(_ id: Peripheral.ID) -> String? { peripherals[id]?.definition.advertisement.localName }

    func isAdvertisingOrConnected(_ id: Peripheral.ID) -> Bool {
        peripherals[id].map { $0.isAdvertising || !$0.links.isEmpty } == true
    }

    func value(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> [UInt8]? {
        guard let device = peripherals[id], let handle = device.attributes.handles(of: uuid).first else { return nil }
        return device.attributes.characteristics[handle]?.value
    }

    /// Notifies a value at once if the current task runs on the radio's executor. Returns false otherwise.
    nonisolated func notifyNow(_ value: [UInt8], _ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Bool {
        guard executor.isCurrent else { return false }
        assumeIsolated { $0.notify(value, uuid, id) }
        return true
    }

    func notify(_ value: [UInt8], _ uuid: BluetoothUUID, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        for handle in device.attributes.handles(of: uuid) { notify(value, handle, device) }
    }

    func notify(_ value: [UInt8], _ key: CharacteristicKey, _ id: Peripheral.ID) {
        guard let device = peripherals[id], let handle = device.attributes.handle(of: key) else { return }
        notify(value, handle, device)
    }

    /// - Parameter link: that of the central that gets the value. Nil for all subscribers.
    func notify(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, to link: SimulatedLink? = nil) {
        let attribute = device.attributes.characteristics[handle]
        attribute?.value = value
        let kind: SimulatedEvent.Kind =
            attribute?.definition.properties.contains(.notify) == false ? .indicate : .notify
        if let link { return send(value, handle, device, kind, over: link) }
        guard device.links.count > 1 else {
            if let link = device.links.first?.value { send(value, handle, device, kind, over: link) }
            return
        }
        for link in device.links.values.sorted(by: { $0.number < $1.number }) {
            send(value, handle, device, kind, over: link)
        }
    }

    /// Ends all links of a peripheral, and notifies their centrals.
    func endLinks(_ id: Peripheral.ID, _ error: BLEError) {
        let links = peripherals[id]?.links.values.sorted { $0.number < $1.number } ?? []
        for link in links { endLink(id, link.port, error) }
    }

    /// Ends the link of a central, also for the other centrals on its adapter, and notifies them.
    func endLink(_ id: Peripheral.ID, _ port: Int, _ error: BLEError) {
        guard let device = peripherals[id], let link = device.links[port] else { return }
        for use in uses(of: link.shared, device) { endUse(device, use, error) }
    }

    /// Ends a central's use of a link, and the link if no other central on its adapter uses it.
    func endUse(_ device: SimulatedDevice, _ link: SimulatedLink, _ error: BLEError) {
        guard device.links[link.port] === link else { return }
        device.links[link.port] = nil
        let id = device.id
        let others = uses(of: link.shared, device)
        let isLast = others.isEmpty
        logger.debug(
            "simulated link ended",
            metadata: ["central": "\(Self.central(link.port))", "peripheral": "\(id)", "error": "\(error)"])
        if isLast {
            link.shared.served.end()
            link.shared.script?.cancel()
            link.shared.eventTask?.cancel()
            for arrival in link.shared.crossing { arrival.deliver(.failure(error)) }
        }
        // The channels end before the host is notified and closes its ends, which would look like a regular end.
        for channel in link.channels { channel.lose(error) }
        if isLast { tellHost(id, link.port, isConnected: false) }
        for operation in link.operations.values { operation(error) }
        failPauses(error) { $0.peripheral == id && $0.port == link.port }
        for arrival in link.outgoing.compactMap(\.arrival) + link.unanswered { arrival.deliver(.failure(error)) }
        for (handle, subscription) in link.subscriptions {
            endSubscription(subscription, handle, leftTo: others)
            subscription.drain()
        }
        for writer in link.writers.values {
            writer.task?.cancel()
            writer.channel.close()
        }
        for command in link.commands.values { command.cancel() }
        for service in isLast ? device.definition.services : [] {
            service.tellOfDisconnection(of: link.shared.central)
        }
        if isRunning {
            for name in names(of: device, link) { ports[link.port]?.handle(.linkEnded(name, error)) }
        }
        if device.hasPrivateAddress, link.name != device.address { forgetLater(link.name, of: device) }
        guard isLast else { return }
        if device.links.isEmpty { linked.remove(id) }
        updateAdvertising(id)
        linkPending(id)
    }

    // MARK: Centrals

    /// - Parameter adapter: the central's adapter. Nil for the first that is on, and another when that is taken out.
    func open(
        _ handle: @escaping @Sendable (CentralBackendEvent) -> Void, _ pairing: PairingAgent, adapter: String?
    ) throws(BLEError) -> Int {
        let own = try choose(adapter)
        let token = number()
        // Peripherals with a bond are always known.
        ports[token] = Port(
            token, handle, pairing, adapter: own, isBound: adapter != nil,
            known: bonded(on: own).union(remembered))
        return token
    }

    func bonded(on adapter: String) -> Set<Peripheral.ID> {
        Set(peripherals.all.lazy.filter { $0.records[adapter]?.bond != nil }.map { self.name(of: $0, on: adapter) })
    }

    /// Ends the links of a central.
    func endLinks(of port: Int) {
        let ended = BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local)
        for device in peripherals.all where device.links[port] != nil { endLink(device.id, port, ended) }
    }

    func close(_ port: Int) {
        guard ports.removeValue(forKey: port) != nil else { return }
        scanners.removeAll { $0.number == port }
        failPauses(.shutDown) { $0.port == port }
        for device in peripherals.all { if let link = device.links[port] { leave(device, link) } }
        for id in peripherals.keys { updateAdvertising(id) }
    }

    func known(_ port: Int) -> [KnownPeripheral] {
        guard let own = ports[port] else { return [] }
        // bluetoothd has an object for each link, also for the clients that have not scanned.
        let others = linked.lazy.compactMap { self.peripherals[$0] }.flatMap(\.links.values)
            .filter { self.adapter(of: $0.port) == own.adapter }.map(\.name)
        return own.known.union(others).compactMap { id in
            peripherals[id].map { device in
                let advertisement = content(of: device, on: adapter(of: port))
                return KnownPeripheral(
                    id: id, advertisement: advertisement, isConnected: isLinked(device, as: id, port),
                    services: device.services(besides: advertisement.serviceUUIDs))
            }
        }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    func setFilter(_ filter: DiscoveryFilter?, _ port: Int) throws(BLEError) {
        if filter != nil { try checkReady(port) }
        guard let port = ports[port] else { return }
        let isNew = port.filter == nil
        setFilter(filter, of: port)
        // A new scan receives all peripherals immediately, and then at their advertising intervals.
        for id in peripherals.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            updateAdvertising(id, anew: isNew && filter != nil)
        }
    }

    func setFilter(_ filter: DiscoveryFilter?, of port: Port) {
        port.filter = filter
        scanners = ports.values.filter { $0.filter != nil }.sorted { $0.number < $1.number }
    }
}
