internal import BLE
internal import Waiting

/// The centrals' access to the radio.
extension SimulatedRadio {
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
        private(set) var known: Set<Peripheral.ID>
        /// Changes when it has forgotten any.
        private var generation = 0

        init(
            _ number: Int, _ handle: @escaping @Sendable (CentralBackendEvent) -> Void, _ pairing: PairingAgent,
            adapter: String, isBound: Bool, known: Set<Peripheral.ID>
        ) {
            (self.number, self.handle) = (number, handle)
            (self.adapter, self.isBound) = (adapter, isBound)
            self.pairing = pairing
            self.known = known
        }

        /// Adds a peripheral. What is known from the last time is not looked up again.
        func learn(_ name: Peripheral.ID, of device: SimulatedDevice) {
            if let last = device.knownTo, last == (number, generation) { return }
            known.insert(name)
            device.knownTo = (number, generation)
        }

        /// Removes peripherals. Returns those that it has known.
        @discardableResult
        func forget(_ names: some Sequence<Peripheral.ID>) -> Set<Peripheral.ID> {
            let forgotten = known.intersection(names)
            known.subtract(forgotten)
            generation += 1
            return forgotten
        }

        /// Replaces all that it knows. Returns what it has known.
        @discardableResult
        func replaceKnown(_ names: Set<Peripheral.ID> = []) -> Set<Peripheral.ID> {
            defer { known = names }
            generation += 1
            return known
        }
    }

    /// A central's attempt to connect to a peripheral that cannot be connected to yet.
    struct PendingConnect {
        let token: Int
        let id: Peripheral.ID
        let port: Int
        let outcome: Outcome<Void>
    }

    /// In the order in which they were opened, in which they receive what concerns several.
    var orderedPorts: [Port] { ports.values.sorted { $0.number < $1.number } }

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

    func close(_ port: Int) {
        guard let closed = ports.removeValue(forKey: port) else { return }
        setFilter(nil, of: closed)
        failPending(.shutDown) { $0.port == port }
        failPauses(.shutDown) { $0.place.port == port }
        for device in linkedDevices { if let link = device.links[port] { leave(device, link) } }
    }

    func known(_ port: Int) -> [KnownPeripheral] {
        guard let own = ports[port] else { return [] }
        // bluetoothd has an object for each link, also for the clients that have not scanned.
        let others = linked.lazy.compactMap { self.peripherals[$0] }.flatMap(\.links.values)
            .filter { self.adapter(of: $0.port) == own.adapter }.map(\.name)
        return own.known.union(others).compactMap { id in
            peripherals[id].map { device in
                let advertisement = content(of: device, on: own.adapter)
                return KnownPeripheral(
                    id: id, advertisement: advertisement, isConnected: isLinked(device, as: id, port),
                    services: device.services(besides: advertisement.serviceUUIDs))
            }
        }.sorted { $0.id < $1.id }
    }

    func setFilter(_ filter: DiscoveryFilter?, _ port: Int) throws(BLEError) {
        if filter != nil { try checkReady(port) }
        guard let port = ports[port] else { return }
        let isNew = port.filter == nil && filter != nil
        setFilter(filter, of: port)
        // A new scan receives all peripherals immediately, and then at their advertising intervals.
        if isNew { for device in peripherals.all { updateAdvertising(device, anew: true) } }
    }

    func setFilter(_ filter: DiscoveryFilter?, of port: Port) {
        defer { port.filter = filter }
        if filter != nil || port.filter != nil { traceScan(filter, of: port.number) }
        guard (filter == nil) != (port.filter == nil) else { return }
        if filter != nil {
            scanners.insert(port, at: scanners.firstIndex { $0.number > port.number } ?? scanners.endIndex)
        } else {
            scanners.removeAll { $0 === port }
            if scanners.isEmpty { endAdvertising() }
        }
    }
}
