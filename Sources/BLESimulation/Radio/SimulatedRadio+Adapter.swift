internal import BLE
internal import Logging

/// The state of one of the system's adapters.
struct SystemAdapter {
    /// The number of the adapter among those of its radio, from 1. It stays when the id changes.
    let number: Int
    var isPowered = true
    var isPresent = true
    var isBlocked = false
    /// Whether unblocking powers it on.
    var isOnUnblocked = false
    var alias = SimulatedRadio.adapterName

    /// The device address, that of the fake bluetoothd's adapter with the same number.
    var address: String { "C0:FF:EE:00:00:\(Hex.string([UInt8(truncatingIfNeeded: number)]).uppercased())" }
}

/// The system's adapters, `hci0` and what a test adds. Each has its own centrals, hosts, links, bonds and settings.
extension SimulatedRadio {
    static let adapterID = "hci0"
    static let adapterName = "simulated"

    /// Plugs in another adapter, which is on.
    ///
    /// - Parameter id: its id, such as `hci1`.
    /// - Precondition: The radio has no adapter with that id.
    public func addAdapter(_ id: String) {
        precondition(adapters[id] == nil, "the radio already has an adapter \(id)")
        adapters[id] = SystemAdapter(number: (adapters.values.map(\.number).max() ?? 0) + 1)
        log(state(of: id), of: id)
        adopt(id)
    }

    /// Plugs in again an adapter that was unplugged, under another id, as the kernel may give it one. It keeps its
    /// bonds. A central that was given the former id does not have it.
    ///
    /// - Precondition: The radio has had an adapter `id`, which is unplugged, and has had none with the new id.
    public func returnAdapter(_ id: String, as newID: String) {
        var returned = adapter(id)
        precondition(!returned.isPresent, "the adapter \(id) is plugged in: setPresent(false)")
        precondition(adapters[newID] == nil, "the radio already has an adapter \(newID)")
        returned.isPresent = true
        adapters[newID] = returned
        for device in peripherals.all {
            if let record = device.records.removeValue(forKey: id) { device.records[newID] = record }
        }
        log(state(of: newID), of: newID)
        adopt(newID)
    }

    /// Powers an adapter on or off. Powering off ends its scans and links. A blocked adapter stays off.
    ///
    /// - Precondition: The radio has had the adapter.
    public func setPowered(_ isPowered: Bool, adapter id: String = "hci0") {
        guard isPowered != adapter(id).isPowered, !adapter(id).isBlocked else { return }
        adapters[id]?.isPowered = isPowered
        if !isPowered { endEverything(Self.adapterOff, on: id) }
        if isRunning { announceState(of: id) }
    }

    /// Plugs in or unplugs an adapter. Unplugging ends its scans and links, and the system forgets its peripherals. A
    /// central that was given no adapter then uses another, if there is one.
    ///
    /// - Precondition: The radio has had the adapter.
    public func setPresent(_ isPresent: Bool, adapter id: String = "hci0") {
        guard isPresent != adapter(id).isPresent else { return }
        adapters[id]?.isPresent = isPresent
        if isPresent {
            // It knows the peripherals with a bond.
            let known = bonded(on: id)
            for port in ports.values where port.adapter == id { port.replaceKnown(known) }
            adopt(id)
        } else {
            endEverything(Self.adapterOff, on: id)
            for port in orderedPorts where port.adapter == id {
                for peripheral in port.replaceKnown().sorted(by: { $0.rawValue < $1.rawValue }) {
                    port.handle(.peripheralRemoved(peripheral))
                }
            }
            forgetContent(on: id)
            if let other = present.first { move(from: id, to: other) }
        }
        if isRunning { announceState(of: id) }
    }

    /// Blocks or unblocks an adapter, like a kill switch. A blocked adapter is off, and cannot be powered on.
    /// Unblocking powers it on if it was on before.
    ///
    /// - Precondition: The radio has had the adapter.
    public func setBlocked(_ isBlocked: Bool, adapter id: String = "hci0") {
        guard isBlocked != adapter(id).isBlocked else { return }
        if isBlocked {
            let isPowered = adapter(id).isPowered
            adapters[id]?.isOnUnblocked = isPowered
            setPowered(false, adapter: id)
            adapters[id]?.isBlocked = true
        } else {
            adapters[id]?.isBlocked = false
            if adapter(id).isOnUnblocked { setPowered(true, adapter: id) }
        }
    }

    private func adapter(_ id: String) -> SystemAdapter {
        guard let adapter = adapters[id] else { preconditionFailure("the radio has no adapter \(id): addAdapter") }
        return adapter
    }

    /// The ids of the adapters that are there, in order.
    private var present: [String] { adapters.filter(\.value.isPresent).keys.sorted { ($0.count, $0) < ($1.count, $1) } }

    /// Centrals without an adapter get a new one.
    private func adopt(_ id: String) {
        for former in adapters.keys.sorted() where adapters[former]?.isPresent == false { move(from: former, to: id) }
    }

    private func move(from former: String, to id: String) {
        let known = bonded(on: id)
        for port in orderedPorts where port.adapter == former && !port.isBound {
            port.adapter = id
            port.replaceKnown(known)
            if isRunning { port.handle(.adapterStateChanged(state(of: id))) }
        }
    }

    // MARK: State

    static let adapterOff = BLEError(
        .disconnected, "the link ended: the adapter was switched off or taken out", disconnectReason: .adapterGone)
    static let absent = BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in: setPresent(true).")
    static let poweredOff = BLEError.poweredOff(remedy: "Switch it on: setPowered(true).")

    func state(of id: String) -> AdapterState {
        guard isRunning else { return .resetting }
        guard let adapter = adapters[id], adapter.isPresent else { return .unavailable }
        return adapter.isPowered ? .poweredOn : .poweredOff
    }

    /// The state of a central's adapter.
    func adapterState(_ port: Int) -> AdapterState { state(of: ports[port]?.adapter ?? Self.adapterID) }

    /// The state of a host's adapter.
    func adapterState(ofHost id: DeviceID?) -> AdapterState {
        state(of: id.flatMap { hosts[$0]?.adapter } ?? Self.adapterID)
    }

    func isOn(_ port: Int) -> Bool { adapterState(port) == .poweredOn }

    func checkReady(_ port: Int) throws(BLEError) { try Self.check(adapterState(port)) }

    /// Throws if an adapter in that state is not ready.
    static func check(_ state: AdapterState) throws(BLEError) {
        switch state {
        case .poweredOn: return
        case .poweredOff: throw poweredOff
        case .unavailable: throw absent
        case .resetting: throw lost
        }
    }

    /// The adapter for a new central or host.
    func choose(_ id: String?) throws(BLEError) -> String {
        try checkAuthorized()
        guard isRunning else {
            throw BLEError(.bluetoothUnavailable, "the simulated Bluetooth service is stopped", remedy: "Restart it.")
        }
        guard let id else {
            return present.first { adapters[$0]?.isPowered == true } ?? present.first ?? Self.adapterID
        }
        guard adapters[id] != nil else { throw unknown(id) }
        return id
    }

    private func unknown(_ id: String) -> BLEError {
        BLEError(
            .adapterNotFound, "there is no adapter \(id)",
            remedy: "Choose \(present.joined(separator: " or ")), or addAdapter.")
    }

    /// Ends what runs over an adapter; over all of them without one.
    func endEverything(_ error: BLEError, on id: String? = nil) {
        func isAffected(_ port: Int?) -> Bool { id == nil || port.flatMap { ports[$0]?.adapter } == id }
        if !isRunning { forgetContent() }
        let known = isRunning ? [:] : Dictionary(uniqueKeysWithValues: adapters.keys.map { ($0, bonded(on: $0)) })
        for port in orderedPorts where isAffected(port.number) {
            setFilter(nil, of: port)
            if !isRunning { port.replaceKnown(known[port.adapter] ?? []) }
        }
        let obstacle = !isRunning ? Self.lost : id.map { state(of: $0) } == .unavailable ? Self.absent : Self.poweredOff
        failPending(obstacle) { isAffected($0.port) }
        for device in linkedDevices {
            // A host's links end with its own adapter, too.
            let isOfHost = id != nil && hosts[device.id]?.adapter == id
            endLinks(device, error) { isAffected($0.port) || isOfHost }
        }
        // Those of links have failed with the links.
        failPauses(obstacle) { pause in
            let host = pause.place.peripheral.flatMap { hosts[$0] }
            guard pause.place.port == nil, let host else { return isAffected(pause.place.port) }
            return id == nil || host.adapter == id
        }
    }

    func announce(_ event: CentralBackendEvent) {
        for port in orderedPorts { port.handle(event) }
        announceToHosts(event, of: nil)
    }

    func announceState(of id: String) {
        let state = state(of: id)
        log(state, of: id)
        for port in orderedPorts where port.adapter == id { port.handle(.adapterStateChanged(state)) }
        announceToHosts(.adapterStateChanged(state), of: id)
    }

    // MARK: Centrals

    /// The adapters, that of a central marked.
    func list(_ port: Int) -> [Adapter] {
        present.compactMap { id in
            adapters[id].map { adapter in
                Adapter(
                    id: id, address: adapter.address, name: adapter.alias, isPowered: adapter.isPowered,
                    isDiscovering: ports.values.contains { $0.adapter == id && $0.filter != nil },
                    isInUse: ports[port]?.adapter == id)
            }
        }
    }

    private func named(_ id: String?, _ port: Int) throws(BLEError) -> String {
        try checkAuthorized()
        guard isRunning else { throw Self.lost }
        guard let id else { return ports[port]?.adapter ?? Self.adapterID }
        guard adapters[id]?.isPresent == true else { throw unknown(id) }
        return id
    }

    func switchAdapter(_ isPowered: Bool, _ id: String?, _ port: Int) throws(BLEError) {
        let id = try named(id, port)
        guard !isPowered || adapters[id]?.isBlocked != true else {
            throw BLEError(
                .blocked, "a radio kill switch blocks the adapter", remedy: "Unblock it: setBlocked(false).")
        }
        setPowered(isPowered, adapter: id)
    }

    func nameAdapter(_ alias: String, _ id: String?, _ port: Int) throws(BLEError) {
        adapters[try named(id, port)]?.alias = alias.isEmpty ? Self.adapterName : alias
    }
}
