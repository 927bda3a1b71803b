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
    var scanners: [Port] = []
    /// The hosts that have a peripheral on this radio.
    var hosts: [Peripheral.ID: Host] = [:]
    /// The adapters of the system, by their ids.
    var adapters = [adapterID: SystemAdapter(number: 1)]
    /// The attempts to connect that wait, by peripheral, in the order in which they began.
    var pending: [Peripheral.ID: [PendingConnect]] = [:]
    /// The next advertisement of each peripheral, by the attoseconds since the radio was created: the comparison of
    /// durations is not inlined.
    var schedule = TimerQueue<Int128, SimulatedDevice>()
    /// Waits for the next advertisement that is due.
    var pacer: Pacer?
    let time: ElapsedTime
    private var lastNumber = 0
    var isRunning = true
    /// Whether the system lets centrals and hosts use Bluetooth.
    var isAuthorized = true
    var faults = FaultPlan()
    /// Whether links have connection events, or ever had.
    var hasEvents = false
    /// Whether there are faults or connection events, or no permission. Asked from anywhere for each request.
    nonisolated let isDisturbed = Atomic(false)
    /// The events that do not go on yet, by peripheral.
    var pauses: [Peripheral.ID?: [Int: Pause]] = [:]
    var faultObservers: [Int: FaultObserver] = [:]
    /// Does what happens by itself at given times.
    package var timeline: Task<Void, Never>?
    /// The peripherals that a system knows from before.
    var remembered: Set<Peripheral.ID> = []
    var advertisingDelaySeed: UInt64?

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
        let device = SimulatedDevice(id: id, definition: definition, pairing: pairing)
        peripherals.add(device)
        accept(definition.channels, id)
        setAdvertisingDelays(of: device)
        updateAdvertising(device)
        linkPending(id)
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

    /// Takes away or gives back the permission to use Bluetooth, as a policy of the message bus does. Without it, no
    /// central and no host can be created, and all their calls fail with `unauthorized`. What they already have, such
    /// as scans, links and subscriptions, goes on.
    ///
    /// It is for the centrals and hosts on the radio. The programs on a fake bluetoothd have `FakeBlueZ.deny(_:)`.
    public func setAuthorized(_ isAuthorized: Bool) {
        log(fault: "setAuthorized(\(isAuthorized))", of: nil)
        self.isAuthorized = isAuthorized
        updateIsDisturbed()
    }

    func checkAuthorized() throws(BLEError) {
        guard isAuthorized else {
            throw BLEError(
                .unauthorized, "the system does not let this user use Bluetooth", isRetryable: false,
                remedy: "Allow it: setAuthorized(true).")
        }
    }

    // MARK: Peripherals

    func setAdvertising(_ isAdvertising: Bool, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.isAdvertising = isAdvertising
        updateAdvertising(device)
        linkPending(device.id)
    }

    func setOnLink(_ body: @escaping @Sendable (SimulatedPeripheral) async -> Void, _ id: Peripheral.ID) {
        peripherals[id]?.onLink = body
    }

    func setAcceptsLinks(_ acceptsLinks: Bool, _ id: Peripheral.ID) {
        peripherals[id]?.acceptsLinks = acceptsLinks
        linkPending(peripherals.id(of: id))
    }

    func setAdvertisement(_ advertisement: Advertisement, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        device.definition.advertisement = advertisement
        updateAdvertising(device, anew: true)
        linkPending(device.id)
    }

    func remove(_ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        // From here on, no central can connect to it, so only useless addresses would be kept.
        let names = peripherals.remove(device)
        device.isAdvertising = false
        for port in ports.values { port.forget(names) }
        endLinks(device, Self.linkLost)
        endAdvertising(device)
        failPauses(Self.linkLost, of: device.id)
        forgetFaults(of: device.id)
        device.endScripts()
    }

    func isConnected(_ id: Peripheral.ID) -> Bool { peripherals[id]?.links.isEmpty == false }

    func setStrength(_ strength: Int, _ id: Peripheral.ID) {
        peripherals[id]?.definition.advertisement.rssi = strength
        peripherals[id]?.signalStrength = strength
    }

    func play(_ strengths: [(seconds: Double, strength: Int)], _ id: Peripheral.ID) {
        play(strengths.map { ($0.seconds, $0.strength) }, .strength, id) { $0.setStrength($1, id) }
    }

    func advertisedName(_ id: Peripheral.ID) -> String? { peripherals[id]?.definition.advertisement.localName }

    func isAdvertisingOrConnected(_ id: Peripheral.ID) -> Bool {
        peripherals[id].map { $0.isAdvertising || !$0.links.isEmpty } == true
    }
}
