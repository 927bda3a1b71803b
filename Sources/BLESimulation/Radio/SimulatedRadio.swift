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

    var peripherals: [Peripheral.ID: SimulatedDevice] = [:]
    var ports: [Int: Port] = [:]
    /// The hosts that have a peripheral on this radio.
    var hosts: [Peripheral.ID: @Sendable (PeripheralBackendEvent) -> Void] = [:]
    var pending: [Int: PendingConnect] = [:]
    /// The next advertisement of each peripheral, by the time since the radio was created.
    var schedule = TimerQueue<Duration, Peripheral.ID>()
    /// Waits for the next advertisement that is due.
    var pacer: Pacer?
    let time: ElapsedTime
    private var lastNumber = 0
    var isPowered = true
    var isPresent = true
    /// Whether the adapter can be used.
    var isOn: Bool { isRunning && isPresent && isPowered }
    var isRunning = true
    var isBlocked = false
    /// Whether unblocking powers the adapter on.
    var isOnUnblocked = false
    var adapterAlias = adapterName
    var faults = FaultPlan()
    /// Whether there are any. Asked from anywhere for each request and value.
    nonisolated let hasFaults = Atomic(false)
    /// The events that do not go on yet.
    var pauses: [Int: Pause] = [:]
    var faultObservers: [Int: FaultObserver] = [:]

    /// A central's access to the radio.
    final class Port {
        let handle: @Sendable (CentralBackendEvent) -> Void
        let pairing: PairingAgent
        var filter: DiscoveryFilter?
        /// The peripherals that the central knows, and can therefore connect to.
        var known: Set<Peripheral.ID>

        init(
            _ handle: @escaping @Sendable (CentralBackendEvent) -> Void, _ pairing: PairingAgent,
            known: Set<Peripheral.ID>
        ) {
            self.handle = handle
            self.pairing = pairing
            self.known = known
        }
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
    ///   its value, its answer and its duration, and each notified value.
    public init(clock: any Clock<Duration> = ContinuousClock(), logger: Logger = Logger(label: "ble")) {
        self.clock = clock
        self.logger = logger
        isTracing = logger.logLevel <= .trace
        time = ElapsedTime(clock)
        tasks = RadioTaskExecutor(executor)
        (clock as? ManualClock)?.include(executor)
    }

    deinit { pacer?.task.cancel() }

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
        var definition = definition
        let id = definition.address.map { Peripheral.ID(rawValue: $0) } ?? unusedID()
        precondition(id.isAddress, "“\(id)” is not a device address, such as F0:F1:F2:F3:F4:F5")
        precondition(peripherals[id] == nil, "the radio already has a peripheral with the address \(id)")
        definition.address = id.rawValue
        peripherals[id] = SimulatedDevice(definition: definition, pairing: pairing)
        accept(definition.channels, id)
        updateAdvertising(id)
        return SimulatedPeripheral(id: id, radio: self)
    }

    func unusedID() -> Peripheral.ID {
        while true {
            let number = number()
            let parts = [24, 16, 8, 0].map { Hex.string([UInt8(truncatingIfNeeded: number >> $0)]) }
            let id = Peripheral.ID(rawValue: "C0:00:\(parts.joined(separator: ":"))")
            if peripherals[id] == nil { return id }
        }
    }

    /// Powers the adapter on or off. Powering off ends all scans and links. A blocked adapter stays off.
    public func setPowered(_ isPowered: Bool) {
        guard isPowered != self.isPowered, !isBlocked else { return }
        self.isPowered = isPowered
        if !isPowered {
            endEverything(Self.adapterOff)
        }
        if isRunning { announce(.adapterStateChanged(adapterState)) }
    }

    /// Plugs in or unplugs the adapter. Unplugging ends all scans and links, and the system forgets its peripherals.
    public func setPresent(_ isPresent: Bool) {
        guard isPresent != self.isPresent else { return }
        self.isPresent = isPresent
        if !isPresent {
            endEverything(Self.adapterOff)
            for port in ports.values {
                for id in port.known { port.handle(.peripheralRemoved(id)) }
                port.known = []
            }
        }
        if isRunning { announce(.adapterStateChanged(adapterState)) }
    }

    private static let adapterOff = BLEError(
        .disconnected, "the link ended: the adapter was switched off or taken out", disconnectReason: .adapterGone)
    static let absent = BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in: setPresent(true).")

    /// Stops the Bluetooth service, as if bluetoothd crashed.
    public func stop() {
        guard isRunning else { return }
        isRunning = false
        announce(.stackLost(Self.lost))
        announce(.adapterStateChanged(.resetting))
        endEverything(Self.lost)
    }

    /// Restarts the Bluetooth service, without scans and links.
    public func restart() {
        guard !isRunning else { return }
        isRunning = true
        announce(.adapterStateChanged(adapterState))
    }

    static let poweredOff = BLEError.poweredOff(remedy: "Switch it on: setPowered(true).")
    static let lost = BLEError(
        .bluetoothLost, "the simulated Bluetooth service has stopped", remedy: "Try again once it is running.")

    private func endEverything(_ error: BLEError) {
        for port in ports.values {
            port.filter = nil
            if !isRunning { port.known = bonded }
        }
        let obstacle = !isRunning ? Self.lost : isPresent ? Self.poweredOff : Self.absent
        failPending(obstacle) { _ in true }
        for id in peripherals.keys {
            endLink(id, error)
            updateAdvertising(id)
        }
        // Those of links have failed with the links.
        failPauses(obstacle)
    }

    private func announce(_ event: CentralBackendEvent) {
        if case .adapterStateChanged(let state) = event {
            logger.debug("simulated adapter", metadata: ["state": "\(state)"])
        }
        for port in ports.values { port.handle(event) }
        announceToHosts(event)
    }

    func setAdvertising(_ isAdvertising: Bool, _ id: Peripheral.ID) {
        peripherals[id]?.isAdvertising = isAdvertising
        updateAdvertising(id)
        linkPending(id)
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
        endLink(id, Self.linkLost)
        endAdvertising(id)
        failPauses(Self.linkLost) { $0.peripheral == id }
        peripherals[id] = nil
        // No central can connect to the peripheral any more, so only a useless address would be kept.
        for port in ports.values { port.known.remove(id) }
    }

    func isConnected(_ id: Peripheral.ID) -> Bool { peripherals[id]?.link != nil }

    func subscriberCount(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Int {
        guard let device = peripherals[id], let link = device.link else { return 0 }
        return device.attributes.handles(of: uuid).count { link.subscriptions[$0] != nil }
    }

    /// The centrals that are subscribed to a characteristic.
    func subscribers(of key: CharacteristicKey, _ id: Peripheral.ID) -> [DeviceID] {
        guard let device = peripherals[id], let link = device.link, let handle = device.attributes.handle(of: key),
            link.subscriptions[handle] != nil
        else { return [] }
        return [Self.central(link.port)]
    }

    func setStrength(_ strength: Int, _ id: Peripheral.ID) {
        peripherals[id]?.definition.advertisement.rssi = strength
        peripherals[id]?.signalStrength = strength
    }

    func play(_ strengths: [(seconds: Double, strength: Int)], _ id: Peripheral.ID) {
        for (seconds, strength) in strengths {
            if seconds <= 0 {
                setStrength(strength, id)
            } else {
                _ = Task.after(.seconds(seconds), clock: clock, on: self, executor: tasks) {
                    $0.setStrength(strength, id)
                }
            }
        }
    }

    /// The peripherals of this radio's hosts, in order of their ids, for a test that disturbs them.
    public var hostedPeripherals: [SimulatedPeripheral] {
        hosts.keys.sorted { $0.rawValue < $1.rawValue }.map { SimulatedPeripheral(id: $0, radio: self) }
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
        for handle in peripherals[id]?.attributes.handles(of: uuid) ?? [] { notify(value, handle, id) }
    }

    func notify(_ value: [UInt8], _ key: CharacteristicKey, _ id: Peripheral.ID) {
        if let handle = peripherals[id]?.attributes.handle(of: key) { notify(value, handle, id) }
    }

    func notify(_ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID) {
        peripherals[id]?.attributes.set(value, of: handle)
        if isTracing { traceNotification(value, handle, id) }
        let properties = peripherals[id]?.attributes.characteristics[handle]?.definition.properties ?? .notify
        send(value, handle, id, properties.contains(.notify) ? .notify : .indicate)
    }

    /// Ends a link, and notifies its central.
    func endLink(_ id: Peripheral.ID, _ error: BLEError) {
        guard let link = peripherals[id]?.link else { return }
        peripherals[id]?.link = nil
        logger.debug(
            "simulated link ended",
            metadata: ["central": "\(Self.central(link.port))", "peripheral": "\(id)", "error": "\(error)"])
        link.served.end()
        // The channels end before the host is notified and closes its ends, which would look like a regular end.
        for channel in link.channels { channel.lose(error) }
        tellHost(id, link.port, isConnected: false)
        for operation in link.operations.values { operation(error) }
        failPauses(error) { $0.peripheral == id && $0.port == link.port }
        for arrival in link.outgoing.compactMap(\.arrival) + link.unanswered { arrival.deliver(.failure(error)) }
        for var subscription in link.subscriptions.values {
            subscription.task?.cancel()
            subscription.drain()
        }
        for writer in link.writers.values {
            writer.task?.cancel()
            writer.channel.close()
        }
        for command in link.commands.values { command.cancel() }
        for service in peripherals[id]?.definition.services ?? [] {
            service.tellOfDisconnection(of: Self.central(link.port))
        }
        if isRunning { ports[link.port]?.handle(.linkEnded(id, error)) }
        updateAdvertising(id)
        linkPending(id)
    }

    // MARK: Centrals

    func open(
        _ handle: @escaping @Sendable (CentralBackendEvent) -> Void, _ pairing: PairingAgent
    ) throws(BLEError) -> Int {
        guard isRunning else {
            throw BLEError(.bluetoothUnavailable, "the simulated Bluetooth service is stopped", remedy: "Restart it.")
        }
        let token = number()
        // Peripherals with a bond are always known.
        ports[token] = Port(handle, pairing, known: bonded)
        return token
    }

    private var bonded: Set<Peripheral.ID> { Set(peripherals.filter { $0.value.bond != nil }.keys) }

    func close(_ port: Int) {
        guard ports.removeValue(forKey: port) != nil else { return }
        failPauses(.shutDown) { $0.port == port }
        for (id, device) in peripherals where device.link?.port == port {
            endLink(id, BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local))
        }
        for id in peripherals.keys { updateAdvertising(id) }
    }

    var adapterState: AdapterState {
        guard isRunning else { return .resetting }
        guard isPresent else { return .unavailable }
        return isPowered ? .poweredOn : .poweredOff
    }

    func checkReady() throws(BLEError) {
        guard isRunning else { throw Self.lost }
        guard isPresent else { throw Self.absent }
        guard isPowered else { throw Self.poweredOff }
    }

    func known(_ port: Int) -> [KnownPeripheral] {
        (ports[port]?.known ?? []).compactMap { id in
            peripherals[id].map { device in
                KnownPeripheral(
                    id: id, advertisement: device.advertisement, isConnected: device.link != nil,
                    services: device.services)
            }
        }.sorted { $0.id.rawValue < $1.id.rawValue }
    }

    func setFilter(_ filter: DiscoveryFilter?, _ port: Int) throws(BLEError) {
        if filter != nil { try checkReady() }
        let isNew = ports[port]?.filter == nil
        ports[port]?.filter = filter
        // A new scan receives all peripherals immediately, and then at their advertising intervals.
        for id in peripherals.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            updateAdvertising(id, anew: isNew && filter != nil)
        }
    }
}
