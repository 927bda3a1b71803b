import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Logging
import Loop
import Synchronization

/// The clients' served objects and advertisements, as a peripheral of the radio.
///
/// `register_app` and `register_advertisement` of the daemon fetch the objects while the client waits for the answer,
/// and call them for each request.
final class FakeServing {
    struct Application {
        let client: String
        let root: String
        /// Whether its registration has ended, with success.
        var isRegistered = false
        /// The types of its services.
        var services: [BluetoothUUID] = []
        /// Whether the daemon listens to the values that it signals.
        var isHeard = false
        /// The paths of attributes, and the attributes at paths.
        private(set) var paths: [ServedAttribute: String] = [:]
        private(set) var attributes: [String: ServedAttribute] = [:]
        /// The characteristics that only indicate.
        var indicating: Set<ServedAttribute> = []
        /// Those whose writes are passed on without waiting for an answer.
        var hasCommands: Set<ServedAttribute> = []
        /// Those that are asked before the parts of a long write are taken.
        var authorizing: Set<ServedAttribute> = []
        /// Those with the property `NotifyAcquired`.
        var acquiring: Set<ServedAttribute> = []
        /// The subscribers.
        var subscribers: [ServedAttribute: Set<Peripheral.ID>] = [:]
        /// The sockets of subscribers.
        var sockets: [ServedAttribute: [Peripheral.ID: PacketSocket]] = [:]

        init(client: String, root: String) { (self.client, self.root) = (client, root) }

        mutating func add(_ attribute: ServedAttribute, at path: String) {
            paths[attribute] = path
            attributes[path] = attribute
        }
    }

    struct Advertisement {
        let client: String
        let path: String
        /// Whether its registration has ended, with success.
        var isRegistered = false
    }

    let backend: SimulatedPeripheralBackend
    /// The address at which it is found.
    var peripheral: Peripheral.ID?
    var applications: [Int: Application] = [:]
    var advertisements: [Int: Advertisement] = [:]
    private var last = 0

    init(_ backend: SimulatedPeripheralBackend) { self.backend = backend }

    func number() -> Int {
        last += 1
        return last
    }
}

extension FakeBlueZ {
    /// How many applications and advertisements clients have registered.
    public var servedCounts: (applications: Int, advertisements: Int) {
        (
            serving?.applications.values.count { $0.isRegistered } ?? 0,
            serving?.advertisements.values.count { $0.isRegistered } ?? 0
        )
    }

    func exportServing() {
        export(adapterPath, Interfaces.gattManager) { daemon, call in await daemon.gattManagerCall(call) }
        export(adapterPath, Interfaces.advertisingManager) { daemon, call in
            await daemon.advertisingManagerCall(call)
        } property: { [weak self] name in
            self?.advertisingManager[name]
        }
    }

    /// The radio's peripheral for served objects, from the first registration on.
    func startedServing() async throws(BLEError) -> FakeServing {
        if let serving { return serving }
        let new = FakeServing(.simulated(radio, adapter: name))
        serving = new
        // Instead of capturing `self`, so that requests stay on the radio's executor, and in order.
        weak let daemon = self
        do throws(BLEError) {
            try await new.backend.start(
                PeripheralContext(
                    handleEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
                    read: { (attribute, request) throws(ATTError) in
                        try await daemon?.readServed(attribute, request) ?? []
                    },
                    write: { (attribute, value, request) throws(ATTError) in
                        try await daemon?.writeServed(value, to: attribute, request)
                    }, logger: Logger(label: "fake"), clock: radio.clock))
            new.peripheral = await new.backend.peripheral
            try await publishListeners(on: new.backend)
            return new
        } catch {
            // The adapter is out: the next registration begins anew.
            if self.serving === new { self.serving = nil }
            await new.backend.shutDown()
            throw error
        }
    }

    /// The daemon has ended, and with it everything that was registered.
    func endServing() async {
        guard let serving else { return }
        self.serving = nil
        servedServices = []
        activeAdvertisements.withLock { $0 = 0 }
        for application in serving.applications.values { ended(application) }
        await serving.backend.shutDown()
    }

    /// A client has left the bus.
    func endServing(of client: String) async {
        guard let serving else { return }
        for (number, application) in serving.applications where application.client == client {
            serving.applications[number] = nil
            ended(application)
            await serving.backend.unregister(number)
        }
        for (number, advertisement) in serving.advertisements where advertisement.client == client {
            serving.advertisements[number] = nil
            await serving.backend.stopAdvertising(number)
        }
        showServing()
    }

    /// Signals what the adapter shows of the registered services and advertisements, if that has changed.
    func showServing() {
        guard let serving else { return }
        let services = serving.applications.sorted { $0.key < $1.key }.flatMap {
            $0.value.isRegistered ? $0.value.services : []
        }
        if services != servedServices {
            servedServices = services
            changed(adapterPath, BlueZ.adapter, ["UUIDs": .strings(services.map(\.fullDescription))])
        }
        let count = serving.advertisements.values.count { $0.isRegistered }
        let isSame = activeAdvertisements.withLock { active in
            defer { active = count }
            return active == count
        }
        if !isSame { changed(adapterPath, BlueZ.advertisingManager, advertisingInstances) }
    }

    private func handle(_ event: PeripheralBackendEvent) {
        switch event {
        // Begun at once, so that the client is called before the central's next request reaches it.
        case .subscribed(let attribute, let central?, let attMTU):
            Task.immediate { await self.subscribed(attribute, central, attMTU) }
        case .unsubscribed(let attribute, let central?):
            Task.immediate { await self.unsubscribed(attribute, central) }
        case .centralConnected(let central): centralChanged(central, isConnected: true)
        case .centralDisconnected(let central):
            closeSockets(of: central)
            centralChanged(central, isConnected: false)
        case .advertisingEnded(let number, _):
            guard let ended = serving?.advertisements.removeValue(forKey: number) else { return }
            showServing()
            Task { _ = await self.callClient(MethodCall(ended.client, ended.path, Self.advertisement, "Release")) }
        default: break
        }
    }
}
