public import BLE
import BLEBlueZ
public import BLESimulation
package import DBus
import Logging
import Synchronization

/// bluetoothd's bus interface over a simulated radio: definitions, served on a private bus.
///
/// It translates between `org.bluez` and the radio and has no behaviour of its own beyond what the daemon adds: temporary device
/// objects, one discovery per sender, `InProgress`, its error names, and that a value which is read shows as a changed
/// property. What the daemon does was looked up on the daemon; where the contract shows a difference, it is looked up again.
public actor FakeBlueZ {
    static let adapterPath = "/org/bluez/hci0"

    public nonisolated let radio: SimulatedRadio
    private let address: String
    let backend: SimulatedBackend
    /// The bus thread.
    let loop = EventLoop(name: "fake-bluez")
    private(set) var session: BusSession?

    /// The agents, in the order in which they were registered, and which of them is the default.
    var agents: [FakeAgent] = []
    /// Whose `Pair` is under way.
    var pairingSender: String?

    var discoverers: Set<String> = [] { didSet { publishAdapter() } }
    /// The transport that each client has set in its filter, whether it scans or not.
    var transports: [String: Transport] = [:]
    var isPowered = true { didSet { publishAdapter() } }
    private var isPresent = true
    var isBlocked = false
    /// The monitors of clients, by their paths.
    var monitors: [String: FakeMonitor] = [:]
    var offersMonitors = false
    var refusesMonitors = false
    var alias = "fake" { didSet { publishAdapter() } }
    /// The adapter's properties, for the bus thread.
    nonisolated let publishedAdapter = Mutex<[String: DBusValue]>([:])
    /// The devices that have an object.
    var devices: [Peripheral.ID: FakeDevice] = [:] {
        didSet {
            let properties = devices.mapValues { device in
                device.properties.merging(device.packetLength.map { ["MTU": .uint16(UInt16($0))] } ?? [:]) { $1 }
            }
            published.withLock { $0 = properties }
        }
    }
    /// The devices' properties and the packet length, for the bus thread, which cannot wait for this actor.
    nonisolated let published = Mutex<[Peripheral.ID: [String: DBusValue]]>([:])
    /// Who has the notifications of a characteristic on, by bus name.
    var notifiers: [AttributeID: Set<String>] = [:]
    /// The daemon's ends of the sockets it has handed out.
    var notifySockets: [AttributeID: PacketSocket] = [:]
    var writeSockets: [AttributeID: PacketSocket] = [:]
    /// What is exported, by its path.
    private var exports: [String: UInt32] = [:]
    /// Values on their way to the bus.
    var notified: [(path: String, value: [UInt8])] = []
    /// How often each method was called.
    public private(set) var calls: [String: Int] = [:]
    /// The next call of a method, by its name, is answered with this error.
    private var injected: [String: DBusError] = [:]

    /// Methods that do not answer, and the calls that wait for that.
    private var hanging: Set<String> = []
    private var hung: [CheckedContinuation<Void, Never>] = []
    private var hungObservers: [CheckedContinuation<Void, Never>] = []
    /// Whether services get resolved after a connect.
    public private(set) var resolvesServices = true

    /// The radio's, so that its events and the calls from the bus take turns.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { radio.unownedExecutor }

    /// A daemon on the bus at `address`; it is not there yet.
    public init(address: String, radio: SimulatedRadio) {
        self.address = address
        self.radio = radio
        backend = .simulated(radio)
    }

    // MARK: The daemon's life

    private var hasStarted = false

    /// Comes up: with the adapter, and without devices.
    public func start() async throws {
        if !hasStarted {
            hasStarted = true
            let context = BackendContext(
                handle: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
                logger: Logger(label: "fake"), clock: radio.clock,
                pairing: PairingAgent(
                    capability: { [weak self] in self?.assumeIsolated { $0.agent?.capability } },
                    answer: { [weak self] id, prompt in await self?.ask(id, prompt) ?? .refuse }))
            try await backend.start(context)
        }
        let session = BusSession(
            loop: loop, logger: Logger(label: "fake"), onSignal: { _ in }, onLoss: {})
        try await session.open(.address(address), timeout: .seconds(10))
        self.session = session
        isPowered = true
        await export("/", Interfaces.objectManager) { [weak self] call in await self?.managedObjects(call) }
        await export(Self.adapterPath, Interfaces.adapter) { [weak self] call in
            await self?.adapterCall(call)
        } property: { [weak self] name in
            self?.publishedAdapter.withLock { $0[name] }
        }
        await exportMonitorManager()
        if hasAgentManager {
            await export("/org/bluez", Interfaces.agentManager) { [weak self] call in await self?.agentManagerCall(call)
            }
        }
        _ = try await session.call(
            .bus(
                "RequestName",
                [.string(BlueZ.service), .uint32(4)]), timeout: .seconds(10))
    }

    /// Is gone at once, without a word, as after SIGKILL. The kernel ends its links.
    public func kill() async {
        let session = session
        self.session = nil
        await session?.close()
        discoverers = []
        monitors = [:]
        agents = []
        for device in devices.values {
            device.connecting?.cancel()
            device.pairing?.cancel()
            endSockets(of: device.id)
        }
        devices = [:]
        release()
        try? await backend.stopDiscovery()
        for peripheral in await backend.knownPeripherals() where peripheral.isConnected {
            try? await backend.disconnect(peripheral.id)
        }
    }

    /// From now on `method` is not answered, until ``release()``.
    public func hang(_ method: String) {
        hanging.insert(method)
    }

    /// A connect is not signalled any more, as happens on BlueZ 5.66 when the ATT channel is up before the link is reported.
    public func omitConnectedSignal() { signalsConnected = false }
    var signalsConnected = true

    /// Says why a link has ended, as bluetoothd does from 5.82 on.
    public func sayReason(_ name: String, _ message: String) { reason = (name, message) }
    private var reason: (name: String, message: String)?

    /// Has no AgentManager1, from the next start on.
    public func omitAgentManager() { hasAgentManager = false }
    private var hasAgentManager = true

    /// The peripheral has a private address, and tells this one when it pairs.
    public func setIdentity(_ address: String, of id: Peripheral.ID) { identities[id] = address }
    var identities: [Peripheral.ID: String] = [:]

    /// Services do not get resolved after a connect any more.
    public func withholdServices() {
        resolvesServices = false
        hang("ServicesResolved")
    }

    /// Answers what hangs, and what follows.
    public func release() {
        hanging = []
        resolvesServices = true
        for continuation in hung { continuation.resume() }
        hung = []
    }

    /// Returns once a call hangs.
    public func untilHung() async {
        guard hung.isEmpty else { return }
        await withCheckedContinuation { hungObservers.append($0) }
    }

    func waitWhileHanging(_ method: String) async {
        guard hanging.contains(method) else { return }
        await withCheckedContinuation { continuation in
            hung.append(continuation)
            for observer in hungObservers { observer.resume() }
            hungObservers = []
        }
    }

    /// Whether any client has a discovery session.
    public var isDiscovering: Bool { !discoverers.isEmpty }

    /// The next call of `method` is answered with an error.
    package func fail(_ method: String, _ error: DBusError) {
        injected[method] = error
    }

    /// Whether `MTU` is shown, as BlueZ before 5.62 does not.
    public func setShowsPacketLength(_ showsPacketLength: Bool) { self.showsPacketLength = showsPacketLength }
    var showsPacketLength = true

    /// The signal strength of an advertisement that was heard from a connected peripheral.
    public func setSignalStrength(_ strength: Int?, of id: Peripheral.ID) { devices[id]?.advertisement.rssi = strength }

    /// As `bluetoothctl power`.
    public func setPowered(_ isPowered: Bool) async {
        self.isPowered = isPowered
        await radio.setPowered(isPowered)
        if !isPowered { discoverers = [] }
        await changed(Self.adapterPath, BlueZ.adapter, ["Powered": .boolean(isPowered)])
    }

    /// Takes the adapter out, and its devices with it, or puts it back, switched on.
    public func setPresent(_ isPresent: Bool) async {
        guard isPresent != self.isPresent else { return }
        self.isPresent = isPresent
        await radio.setPresent(isPresent)
        if isPresent {
            isPowered = true
            await emit(
                "/", BlueZ.objectManager, "InterfacesAdded",
                [.objectPath(Self.adapterPath), interfaces(adapterInterfaces)])
            return
        }
        discoverers = []
        let gone = devices
        devices = [:]
        for device in gone.values {
            device.connecting?.cancel()
            for (path, interfaces) in device.objects { await removed(path, Array(interfaces.keys)) }
        }
        await removed(Self.adapterPath, [BlueZ.adapter])
    }

    private func removed(_ path: String, _ interfaces: [String]) async {
        await emit("/", BlueZ.objectManager, "InterfacesRemoved", [.objectPath(path), .strings(interfaces)])
    }

    // MARK: The bus

    func export(
        _ path: String, _ interface: InterfaceDescription,
        _ handle: @escaping @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>?,
        property: @escaping @Sendable (String) -> DBusValue? = { _ in nil }
    ) async {
        let object = ExportedObject(path: path, interface: interface) { [weak self] call in
            await self?.process(call, handle)
                ?? .failure(.bus("UnknownMethod", call.method))
        } property: { name in
            property(name)
        }
        exports[path] = try? await session?.export(object)
    }

    /// Objects are gone, those of the deepest paths first.
    func removed(_ objects: [(path: String, interface: String)]) async {
        for object in objects {
            await emit(
                "/", BlueZ.objectManager, "InterfacesRemoved",
                [.objectPath(object.path), .strings([object.interface])])
            if let id = exports.removeValue(forKey: object.path) { await session?.unexport(id) }
        }
    }

    /// One call; the beginning of what it does is not separated from its being noted.
    private func process(
        _ call: IncomingCall, _ handle: @Sendable (IncomingCall) async -> Result<MethodReply, DBusError>?
    ) async -> Result<MethodReply, DBusError>? {
        await waitWhileHanging(call.method)
        calls[call.method, default: 0] += 1
        if let error = injected.removeValue(forKey: call.method) { return .failure(error) }
        return await handle(call)
    }

    func emit(_ path: String, _ interface: String, _ signal: String, _ arguments: [DBusValue]) async {
        try? await session?.emit(path: path, interface: interface, signal: signal, arguments)
    }

    /// That properties have changed.
    static func signal(_ path: String, _ interface: String, _ properties: [String: DBusValue]) -> OutgoingSignal {
        OutgoingSignal(
            path, BlueZ.properties, "PropertiesChanged", [.string(interface), .options(properties), .strings([])])
    }

    func changed(
        _ path: String, _ interface: String, _ properties: [String: DBusValue], invalidated: [String] = []
    ) async {
        await emit(
            path, BlueZ.properties, "PropertiesChanged",
            [.string(interface), .options(properties), .strings(invalidated)])
    }

    // MARK: Objects

    private func managedObjects(_ call: IncomingCall) -> Result<MethodReply, DBusError> {
        var objects: [DBusValue: DBusValue] = [:]
        if isPresent { objects[.objectPath(Self.adapterPath)] = interfaces(adapterInterfaces) }
        for device in devices.values {
            for (path, properties) in device.objects { objects[.objectPath(path)] = interfaces(properties) }
        }
        return .success(MethodReply([.dictionary(key: "o", value: "a{sa{sv}}", objects)]))
    }

    func interfaces(_ interfaces: [String: [String: DBusValue]]) -> DBusValue {
        .dictionary(
            key: "s", value: "a{sv}",
            Dictionary(uniqueKeysWithValues: interfaces.map { (.string($0), .options($1)) }))
    }

    // MARK: Adapter1

    private func adapterCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard isPresent else { return .failure(.bus("UnknownObject", "no adapter")) }
        if call.method == "Set" { return await setProperty(call) }
        guard isPowered else { return .failure(.bluez("NotReady", "Resource Not Ready")) }
        switch call.method {
        case "RemoveDevice": return await removeDevice(call)
        case "SetDiscoveryFilter": return await setDiscoveryFilter(call)
        case "StartDiscovery":
            guard discoverers.insert(call.sender).inserted else {
                return .failure(.bluez("InProgress", "Operation already in progress"))
            }
            await changed(Self.adapterPath, BlueZ.adapter, ["Discovering": .boolean(true)])
            try? await backend.startDiscovery(unitedFilter)
            return .success(MethodReply())
        default:
            guard discoverers.remove(call.sender) != nil else {
                return .failure(.bluez("Failed", "No discovery started"))
            }
            if discoverers.isEmpty {
                if monitors.isEmpty { try? await backend.stopDiscovery() }
                await changed(Self.adapterPath, BlueZ.adapter, ["Discovering": .boolean(false)])
                for device in devices.values {
                    devices[device.id]?.advertisement.rssi = nil
                    devices[device.id]?.advertisement.txPower = nil
                    await changed(device.path, BlueZ.device, [:], invalidated: ["RSSI", "TxPower"])
                }
            }
            return .success(MethodReply())
        }
    }

    // MARK: The radio's events

    private func handle(_ event: BackendEvent) {
        switch event {
        case .advertisement(let id, let advertisement): Task { await self.heard(id, advertisement) }
        case .disconnected(let id, _): linkEnded(id)
        case .pairingEnded(let id): Task.immediate { await self.publishPairing(id) }
        case .adapter, .scanEnded, .removed, .servicesChanged, .notificationsEnded, .lost: break
        }
    }

    private func heard(_ id: Peripheral.ID, _ advertisement: Advertisement) async {
        guard session != nil else { return }
        if let device = devices[id] {
            devices[id]?.advertisement = advertisement
            await changed(device.path, BlueZ.device, FakeDevice.advertised(advertisement))
            await tellMonitors(device.path, advertisement)
            return
        }
        let device = FakeDevice(id: id, advertisement: advertisement)
        devices[id] = device
        await export(device.path, Interfaces.device) { [weak self] call in
            await self?.deviceCall(id, call)
        } property: { [weak self] name in
            self?.published.withLock { $0[id]?[name] }
        }
        await emit(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [.objectPath(device.path), interfaces([BlueZ.device: device.properties, "org.example.Unknown": [:]])])
        await tellMonitors(device.path, advertisement)
    }

    /// Calls a client's object, as the daemon does with agents, monitors and the like.
    func callClient(_ call: MethodCall) async -> MethodReply? {
        try? await session?.call(call, timeout: .seconds(10))
    }

    private func linkEnded(_ id: Peripheral.ID) {
        endSockets(of: id)
        guard let device = devices[id], device.isConnected else { return }
        devices[id]?.isConnected = false
        devices[id]?.areServicesResolved = false
        devices[id]?.packetLength = nil
        devices[id]?.linkPacketLength = nil
        // (begun at once, so that no later signal overtakes it)
        Task.immediate {
            if let reason {
                await emit(
                    device.path, BlueZ.device, "Disconnected", [.string(reason.name), .string(reason.message)])
            }
            await changed(
                device.path, BlueZ.device, ["ServicesResolved": .boolean(false), "Connected": .boolean(false)])
        }
    }
}
