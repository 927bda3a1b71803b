internal import BLE

/// This machine as a peripheral of the radio, for ``BLE/PeripheralHost``.
extension SimulatedRadio {
    /// Adds a peripheral that serves nothing and does not advertise yet. Returns its id.
    func openHost(
        _ handle: @escaping @Sendable (PeripheralBackendEvent) -> Void
    ) throws(BLEError) -> DeviceID {
        guard isRunning else {
            throw BLEError(.bluetoothUnavailable, "the simulated Bluetooth service is stopped", remedy: "Restart it.")
        }
        guard isPresent else { throw Self.absent }
        let id = unusedID()
        let device = SimulatedDevice(
            definition: PeripheralDefinition(address: id.rawValue, advertisement: Advertisement(), services: []))
        device.isAdvertising = false
        peripherals[id] = device
        hosts[id] = handle
        return id
    }

    /// Removes the peripheral of a host.
    func closeHost(_ id: DeviceID) {
        hosts[id] = nil
        remove(id)
    }

    /// Replaces the services of a host. A central with a link is notified of the change. Its subscriptions remain if
    /// services were only added.
    func setServices(_ services: [ServiceDefinition], _ id: DeviceID) {
        guard let device = peripherals[id] else { return }
        let before = device.definition.services
        peripherals[id]?.definition.services = services
        peripherals[id]?.attributes = SimulatedAttributes(services)
        guard let link = device.link else { return }
        if services.count < before.count || zip(before, services).contains(where: { $0.uuid != $1.uuid }) {
            peripherals[id]?.link?.subscriptions = [:]
            for subscription in link.subscriptions.values { subscription.task?.cancel() }
        }
        ports[link.port]?.handle(.servicesChanged(id))
    }

    /// Changes the advertisement of a host. Nil if it does not advertise.
    func setHostedAdvertisement(_ advertisement: Advertisement?, _ id: DeviceID) {
        if let advertisement { setAdvertisement(advertisement, id) }
        setAdvertising(advertisement != nil, id)
    }

    /// Ends the link of a central to a host's peripheral.
    func disconnectCentral(_ central: DeviceID, from id: DeviceID) {
        guard let link = peripherals[id]?.link, Self.central(link.port) == central else { return }
        endLink(id, BLEError(.disconnected, "the peripheral ended the link", disconnectReason: .remote))
    }

    /// Reports a link to the host of the peripheral, if it has one.
    func tellHost(_ id: DeviceID, _ port: Int, isConnected: Bool) {
        let central = Self.central(port)
        hosts[id]?(isConnected ? .centralConnected(central) : .centralDisconnected(central))
    }

    /// Reports the adapter's state to all hosts, and removes their services and advertisements if these are lost.
    func announceToHosts(_ event: CentralBackendEvent) {
        for (id, handle) in hosts {
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
