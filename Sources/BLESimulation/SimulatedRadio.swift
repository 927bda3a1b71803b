public import BLE

/// A radio in memory: peripherals as they are defined, and any number of centrals that hear them.
///
/// ```swift
/// let radio = SimulatedRadio(clock: ManualClock())
/// let strap = await radio.add(.heartRateStrap(beatsPerMinute: 72))
/// let central = try await Central(backend: .simulated(radio))
/// …
/// await strap.dropLink()
/// ```
///
/// It behaves as bluetoothd and its kernel do with the same peripherals; the suite `BackendContract` sees to that. Time passes on
/// the given clock only.
public actor SimulatedRadio {
    /// The world's clock.
    public nonisolated let clock: any Clock<Duration>

    /// How long a peripheral that does not answer is tried to be connected to: the kernel's 20 s.
    static let connectionTimeout = Duration.seconds(20)

    private var peripherals: [Peripheral.ID: SimulatedDevice] = [:]
    private var ports: [Int: Port] = [:]
    private var pending: [Int: PendingConnect] = [:]
    private var lastNumber = 0
    private var isPowered = true
    private var isRunning = true

    /// A central's access to the radio.
    private struct Port {
        let handle: @Sendable (BackendEvent) -> Void
        var filter: DiscoveryFilter?
        /// The peripherals it has heard, which are those it can connect to.
        var known: Set<Peripheral.ID> = []
    }

    /// A central that waits for a peripheral to advertise.
    private struct PendingConnect {
        let id: Peripheral.ID
        let port: Int
        let outcome: Outcome<Void>
    }

    /// A radio without peripherals, switched on.
    public init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
    }

    private func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: The test's side

    /// Puts a peripheral into range; it advertises from now on.
    public func add(_ definition: PeripheralDefinition) -> SimulatedPeripheral {
        var definition = definition
        let number = number()
        let address =
            definition.address
            ?? "C0:00:00:00:\(Hex.string([UInt8(number >> 8 & 0xFF)])):\(Hex.string([UInt8(number & 0xFF)]))"
        definition.address = address.uppercased()
        let id = Peripheral.ID(rawValue: address.uppercased())
        peripherals[id] = SimulatedDevice(definition: definition)
        updateAdvertising(id)
        return SimulatedPeripheral(id: id, radio: self)
    }

    /// Switches the adapter on or off. Off ends all scans and links.
    public func setPowered(_ isPowered: Bool) {
        guard isPowered != self.isPowered else { return }
        self.isPowered = isPowered
        if !isPowered {
            endEverything(BLEError(.disconnected, "the link ended: the adapter was switched off"))
        }
        if isRunning { announce(.adapter(adapterState)) }
    }

    /// Stops the Bluetooth service, as a crash of bluetoothd does.
    public func stop() {
        guard isRunning else { return }
        isRunning = false
        announce(.lost(Self.lost))
        announce(.adapter(.unavailable))
        endEverything(Self.lost)
    }

    /// Starts the Bluetooth service again, with nothing going on.
    public func restart() {
        guard !isRunning else { return }
        isRunning = true
        announce(.adapter(adapterState))
    }

    private static let poweredOff = BLEError(
        .poweredOff, "the adapter is switched off", remedy: "Switch it on: setPowered(true).")
    private static let lost = BLEError(
        .bluetoothLost, "the simulated Bluetooth service has stopped", remedy: "Try again once it is running.")

    private func endEverything(_ error: BLEError) {
        for token in ports.keys {
            ports[token]?.filter = nil
            if !isRunning { ports[token]?.known = [] }
        }
        failPending(isRunning ? Self.poweredOff : Self.lost) { _ in true }
        for id in peripherals.keys {
            endLink(id, error)
            updateAdvertising(id)
        }
    }

    private func announce(_ event: BackendEvent) {
        for port in ports.values { port.handle(event) }
    }

    func setAdvertising(_ isAdvertising: Bool, _ id: Peripheral.ID) {
        peripherals[id]?.isAdvertising = isAdvertising
        updateAdvertising(id)
        linkPending(id)
    }

    func setAdvertisement(_ advertisement: Advertisement, _ id: Peripheral.ID) {
        peripherals[id]?.definition.advertisement = advertisement
        updateAdvertising(id, anew: true)
    }

    func remove(_ id: Peripheral.ID) {
        endLink(id, BLEError(.disconnected, "the link was lost"))
        peripherals[id]?.advertiser?.cancel()
        peripherals[id] = nil
    }

    func isConnected(_ id: Peripheral.ID) -> Bool { peripherals[id]?.link != nil }

    func subscriberCount(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Int {
        guard let device = peripherals[id], let link = device.link else { return 0 }
        return device.attributes.handles(of: uuid).count { link.subscriptions[$0] != nil }
    }

    func value(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> [UInt8]? {
        guard let device = peripherals[id], let handle = device.attributes.handles(of: uuid).first else { return nil }
        return device.attributes.characteristics[handle]?.value
    }

    func notify(_ value: [UInt8], _ uuid: BluetoothUUID, _ id: Peripheral.ID) {
        for handle in peripherals[id]?.attributes.handles(of: uuid) ?? [] { notify(value, handle, id) }
    }

    private func notify(_ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID) {
        peripherals[id]?.attributes.set(value, of: handle)
        peripherals[id]?.link?.subscriptions[handle]?.deliver(value)
    }

    /// Ends a link, whoever wanted that, and tells its central.
    func endLink(_ id: Peripheral.ID, _ error: BLEError) {
        guard let link = peripherals[id]?.link else { return }
        peripherals[id]?.link = nil
        for operation in link.operations.values { operation(error) }
        for subscription in link.subscriptions.values { subscription.task?.cancel() }
        for command in link.commands.values { command.cancel() }
        if isRunning { ports[link.port]?.handle(.disconnected(id, error)) }
        updateAdvertising(id)
        linkPending(id)
    }

    // MARK: Advertising

    /// Advertises when somebody scans, the peripheral wants to and has no link.
    private func updateAdvertising(_ id: Peripheral.ID, anew: Bool = false) {
        guard let device = peripherals[id] else { return }
        let should =
            device.isAdvertising && device.link == nil && isRunning && isPowered
            && ports.values.contains { $0.filter != nil }
        if !should || anew {
            device.advertiser?.cancel()
            peripherals[id]?.advertiser = nil
        }
        guard should, peripherals[id]?.advertiser == nil else { return }
        peripherals[id]?.advertiser = Task { [weak self, clock, interval = device.definition.advertisingInterval] in
            while !Task.isCancelled {
                await self?.advertise(id)
                guard (try? await clock.sleep(for: interval)) != nil else { return }
            }
        }
    }

    private func advertise(_ id: Peripheral.ID) {
        guard !Task.isCancelled, let device = peripherals[id], device.link == nil else { return }
        let advertisement = device.definition.advertisement
        for (token, port) in ports {
            guard let filter = port.filter else { continue }
            guard filter.services.isEmpty || !filter.services.isDisjoint(with: advertisement.serviceUUIDs) else {
                continue
            }
            if let minimum = filter.minimumRSSI, (advertisement.rssi ?? -127) < minimum { continue }
            ports[token]?.known.insert(id)
            port.handle(.advertisement(id, advertisement))
        }
    }

    // MARK: The central's side

    func open(_ handle: @escaping @Sendable (BackendEvent) -> Void) throws(BLEError) -> Int {
        guard isRunning else {
            throw BLEError(.bluetoothUnavailable, "the simulated Bluetooth service is stopped", remedy: "Restart it.")
        }
        let token = number()
        ports[token] = Port(handle: handle)
        return token
    }

    func close(_ port: Int) {
        guard ports.removeValue(forKey: port) != nil else { return }
        for (id, device) in peripherals where device.link?.port == port {
            endLink(id, BLEError(.disconnected, "the link was ended by a disconnect"))
        }
        for id in peripherals.keys { updateAdvertising(id) }
    }

    var adapterState: AdapterState {
        guard isRunning else { return .unavailable }
        return isPowered ? .poweredOn : .poweredOff
    }

    var adapter: Adapter {
        Adapter(
            id: "hci0", address: "00:00:00:00:00:00", name: "simulated", isPowered: isPowered,
            isDiscovering: ports.values.contains { $0.filter != nil })
    }

    private func checkReady() throws(BLEError) {
        guard isRunning else { throw Self.lost }
        guard isPowered else { throw Self.poweredOff }
    }

    func known(_ port: Int) -> [KnownPeripheral] {
        (ports[port]?.known ?? []).sorted { $0.rawValue < $1.rawValue }.compactMap { id in
            peripherals[id].map { device in
                KnownPeripheral(
                    id: id, advertisement: device.definition.advertisement, isConnected: device.link != nil)
            }
        }
    }

    func setFilter(_ filter: DiscoveryFilter?, _ port: Int) throws(BLEError) {
        if filter != nil { try checkReady() }
        let isNew = ports[port]?.filter == nil
        ports[port]?.filter = filter
        // Whoever begins to listen hears everybody at once, and then with their intervals.
        for id in peripherals.keys { updateAdvertising(id, anew: isNew && filter != nil) }
    }

    // MARK: Links

    func connect(_ id: Peripheral.ID, _ port: Int) async throws(BLEError) {
        try checkReady()
        guard ports[port]?.known.contains(id) == true else {
            throw BLEError(.peripheralNotFound, "it has not been heard", remedy: "Scan for it first.")
        }
        if peripherals[id]?.link?.port == port || link(id, port) { return }
        let outcome = Outcome<Void>()
        let token = number()
        pending[token] = PendingConnect(id: id, port: port, outcome: outcome)
        let timer = Task { [clock] in
            guard (try? await clock.sleep(for: Self.connectionTimeout)) != nil else { return }
            outcome.deliver(
                .failure(
                    BLEError(.connectionFailed, "the link could not be made: the peripheral does not answer")))
        }
        defer {
            timer.cancel()
            pending[token] = nil
        }
        try await outcome.wait()
    }

    /// Makes the link if the peripheral can be connected to now.
    private func link(_ id: Peripheral.ID, _ port: Int) -> Bool {
        guard let device = peripherals[id], device.link == nil, device.isAdvertising else { return false }
        peripherals[id]?.link = SimulatedLink(port: port)
        updateAdvertising(id)
        return true
    }

    /// A peripheral may have become connectable.
    private func linkPending(_ id: Peripheral.ID) {
        guard isRunning, isPowered else { return }
        for (token, connect) in pending.sorted(by: { $0.key < $1.key }) where connect.id == id {
            guard link(id, connect.port) else { return }
            pending[token] = nil
            connect.outcome.deliver(.success(()))
        }
    }

    private func failPending(_ error: BLEError, where matches: (PendingConnect) -> Bool) {
        for (token, connect) in pending where matches(connect) {
            pending[token] = nil
            connect.outcome.deliver(.failure(error))
        }
    }

    func disconnect(_ id: Peripheral.ID, _ port: Int) {
        failPending(BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")) {
            $0.id == id && $0.port == port
        }
        guard peripherals[id]?.link?.port == port else { return }
        endLink(id, BLEError(.disconnected, "the link was ended by a disconnect"))
    }

    /// The peripheral, which must have a link to that central.
    private func device(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> SimulatedDevice {
        guard isRunning else { throw Self.lost }
        guard let device = peripherals[id], device.link?.port == port else {
            throw BLEError(.disconnected, "there is no link")
        }
        return device
    }

    // MARK: Attributes

    func database(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> GATTDatabase {
        try device(id, port).attributes.database
    }

    func read(_ attribute: AttributeID, _ port: Int) async throws(BLEError) -> [UInt8] {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        guard characteristic.definition.properties.contains(.read) else { throw BLEError(.readNotPermitted) }
        guard let handler = characteristic.definition.onRead else { return characteristic.value }
        return try await operate(attribute.peripheral) { () throws(ATTError) in try await handler() }
    }

    func write(_ value: [UInt8], to attribute: AttributeID, type: WriteType, _ port: Int) async throws(BLEError) {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        let properties = characteristic.definition.properties
        guard properties.contains(type == .withResponse ? .write : .writeWithoutResponse) else {
            throw BLEError(.writeNotPermitted)
        }
        guard let handler = characteristic.definition.onWrite else {
            return notify(value, attribute.handle, attribute.peripheral)
        }
        guard type == .withResponse else {
            return command(attribute.peripheral) { try? await handler(value, type) }
        }
        try await operate(attribute.peripheral) { () throws(ATTError) in try await handler(value, type) }
    }

    /// Runs a handler for whose end nobody waits; the link's end cancels it.
    private func command(_ id: Peripheral.ID, _ handler: @escaping @Sendable () async -> Void) {
        let token = number()
        peripherals[id]?.link?.commands[token] = Task {
            await handler()
            self.peripherals[id]?.link?.commands[token] = nil
        }
    }

    func readDescriptor(_ descriptor: AttributeID, _ port: Int) throws(BLEError) -> [UInt8] {
        guard let value = try device(descriptor.peripheral, port).attributes.descriptors[descriptor.handle] else {
            throw BLEError(.invalidHandle)
        }
        return value
    }

    func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID, _ port: Int) throws(BLEError) {
        guard try device(descriptor.peripheral, port).attributes.descriptors[descriptor.handle] != nil else {
            throw BLEError(.invalidHandle)
        }
        peripherals[descriptor.peripheral]?.attributes.setDescriptor(value, of: descriptor.handle)
    }

    /// Runs a handler of the definition until it answers, the link ends or the caller gives up.
    private func operate<Value: Sendable>(
        _ id: Peripheral.ID, _ handler: @escaping @Sendable () async throws(ATTError) -> Value
    ) async throws(BLEError) -> Value {
        let outcome = Outcome<Value>()
        let token = number()
        let task = Task {
            do throws(ATTError) {
                outcome.deliver(.success(try await handler()))
            } catch {
                outcome.deliver(.failure(BLEError(error)))
            }
        }
        peripherals[id]?.link?.operations[token] = { outcome.deliver(.failure($0)) }
        defer {
            task.cancel()
            peripherals[id]?.link?.operations[token] = nil
        }
        return try await outcome.wait()
    }

    func subscribe(
        _ attribute: AttributeID, _ port: Int, _ deliver: @escaping @Sendable ([UInt8]) -> Void
    ) throws(BLEError) {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        guard !characteristic.definition.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw BLEError(.requestNotSupported)
        }
        var subscription = SimulatedSubscription(number: number(), deliver: deliver)
        if let handler = characteristic.definition.onSubscribe {
            let number = subscription.number
            let notifier = Notifier(clock: clock) { [weak self] value in
                await self?.notify(value, attribute, number)
            }
            subscription.task = Task { try? await handler(notifier) }
        }
        peripherals[attribute.peripheral]?.link?.subscriptions[attribute.handle] = subscription
    }

    /// A value from a subscription's handler; it goes nowhere once the subscription has ended.
    private func notify(_ value: [UInt8], _ attribute: AttributeID, _ number: Int) {
        guard peripherals[attribute.peripheral]?.link?.subscriptions[attribute.handle]?.number == number else { return }
        notify(value, attribute.handle, attribute.peripheral)
    }

    func unsubscribe(_ attribute: AttributeID, _ port: Int) {
        guard peripherals[attribute.peripheral]?.link?.port == port else { return }
        peripherals[attribute.peripheral]?.link?.subscriptions.removeValue(forKey: attribute.handle)?.task?.cancel()
    }
}
