internal import BLE

/// This machine as a peripheral of the radio, for ``BLE/PeripheralHost``.
extension SimulatedRadio {
    /// A host's access to the radio.
    struct Host {
        let adapter: String
        let handle: @Sendable (PeripheralBackendEvent) -> Void
    }

    /// The number of centrals that can be connected to a host, as with many controllers.
    private static let hostedLinks = 8

    /// Adds a peripheral that serves nothing and does not advertise yet. Returns its id.
    func openHost(
        _ adapter: String?, _ handle: @escaping @Sendable (PeripheralBackendEvent) -> Void
    ) throws(BLEError) -> DeviceID {
        let own = try choose(adapter)
        guard adapters[own]?.isPresent == true else { throw Self.absent }
        let id = unusedID()
        let device = SimulatedDevice(
            id: id,
            definition: PeripheralDefinition(address: id.rawValue, advertisement: Advertisement(), services: []))
        device.isAdvertising = false
        device.maximumLinks = Self.hostedLinks
        peripherals.add(device)
        hosts[id] = Host(adapter: own, handle: handle)
        return id
    }

    /// The peripherals of this radio's hosts, in order of their ids, for a test that disturbs them.
    public var hostedPeripherals: [SimulatedPeripheral] {
        hosts.keys.sorted { $0.rawValue < $1.rawValue }.map { SimulatedPeripheral(id: $0, radio: self) }
    }

    /// Removes the peripheral of a host.
    func closeHost(_ id: DeviceID) {
        hosts[id] = nil
        // Its own calls. Those of links fail with the links.
        failPauses(.shutDown, of: id) { $0.place.port == nil && $0.place.link == nil }
        remove(id)
    }

    /// Replaces the services of a peripheral. Centrals with a link are told of the change. Their subscriptions and
    /// channels for writes, and the values, remain in services that are as before. They end in the others.
    func setServices(_ services: [ServiceDefinition], _ id: DeviceID) {
        guard let device = peripherals[id] else { return }
        var attributes = SimulatedAttributes(services, replacing: device.attributes)
        let unchanged = attributes.unchanged(from: device.attributes)
        attributes.keep(unchanged, of: device.attributes)
        device.definition.services = services
        device.attributes = attributes
        for link in device.orderedLinks {
            link.shared.closeWriters { !unchanged.contains($0) }
            let ended = link.subscriptions.filter { !unchanged.contains($0.key) }.sorted { $0.key < $1.key }
            for (handle, subscription) in ended {
                endSubscription(handle, subscription.run, link, device)
                subscription.drain()
            }
            for name in names(of: device, link) {
                ports[link.port]?.handle(.servicesChanged(name))
                for (handle, _) in ended {
                    ports[link.port]?.handle(
                        .notificationsEnded(
                            AttributeID(peripheral: name, handle: handle),
                            BLEError(.disconnected, "the peripheral's services have changed", isRetryable: true)))
                }
            }
        }
    }

    /// Changes the advertisement of a host. Nil if it does not advertise.
    func setHostedAdvertisement(_ advertisement: Advertisement?, _ scanResponse: Advertisement, _ id: DeviceID) {
        peripherals[id]?.air.scanResponse = scanResponse == Advertisement() ? nil : scanResponse
        if let advertisement { setAdvertisement(advertisement, id) }
        setAdvertising(advertisement != nil, id)
    }

    /// Ends the link of a central to a host's peripheral.
    func disconnectCentral(_ central: DeviceID, from id: DeviceID) {
        guard let device = peripherals[id] else { return }
        let ended = BLEError(.disconnected, "the peripheral ended the link", disconnectReason: .remote)
        endLinks(device, ended) { Self.central($0.port) == central }
    }

    /// Returns where a request of a central to a host happens. Nil if its link has ended, even if the central has
    /// another one.
    private func place(of central: DeviceID, over link: CentralLink?, at id: DeviceID) -> Place? {
        let use = peripherals[id]?.links.values.first {
            $0.shared.served == link && Self.central($0.port) == central
        }
        return use.map { place(id, $0.port) }
    }

    /// Lets the faults of a request happen before the host is asked. Returns whether the link is lost afterward.
    func admitRequest(
        of central: DeviceID, over link: CentralLink?, at id: DeviceID, handle: UInt16?
    ) async throws(BLEError) -> Bool {
        // Without a link, there is nobody to answer.
        guard let place = place(of: central, over: link, at: id) else { throw BLEError(ATTError.unlikelyError) }
        return try await admit(.request, at: place, handle: handle)
    }

    func loseLink(of central: DeviceID, over link: CentralLink?, at id: DeviceID) {
        if let place = place(of: central, over: link, at: id) { loseLink(at: place) }
    }

    /// Reports a link to the host of the peripheral, if it has one.
    func tellHost(_ id: DeviceID, _ port: Int, isConnected: Bool) {
        let central = Self.central(port)
        hosts[id]?.handle(isConnected ? .centralConnected(central) : .centralDisconnected(central))
    }

    /// Reports an adapter's state to its hosts, and removes their services and advertisements if these are lost.
    ///
    /// - Parameter adapter: nil for the hosts of all.
    func announceToHosts(_ event: CentralBackendEvent, of adapter: String?) {
        for (id, host) in hosts.sorted(by: { $0.key.rawValue < $1.key.rawValue })
        where adapter == nil || host.adapter == adapter {
            let handle = host.handle
            switch event {
            case .adapterStateChanged(let state):
                if state != .poweredOn { setAdvertising(false, id) }
                if state == .unavailable { setServices([], id) }
                handle(.adapterStateChanged(state))
            case .stackLost(let error):
                setAdvertising(false, id)
                setServices([], id)
                handle(.stackLost(error))
            default: break
            }
        }
    }
}
