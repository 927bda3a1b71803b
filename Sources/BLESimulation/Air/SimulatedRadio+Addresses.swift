internal import BLE
internal import Waiting

/// Private addresses. The kernel resolves those of a peripheral with a bond, so that bluetoothd keeps the object of the
/// device, whose path has the first address that it received. Without a bond, each new address is that of a stranger.
extension SimulatedRadio {
    /// How long bluetoothd keeps a device without a bond that it no longer receives (`TemporaryTimeout`).
    private static let memory = Duration.seconds(30)

    /// Returns the id under which an adapter knows a peripheral.
    func name(of device: SimulatedDevice, on adapter: String) -> Peripheral.ID {
        guard device.hasPrivateAddress else { return device.id }
        guard let record = device.records[adapter], record.bond != nil else { return device.address }
        return record.name ?? device.id
    }

    /// Returns the ids by which a central may know a peripheral that it has a link to.
    func names(of device: SimulatedDevice, _ link: SimulatedLink) -> [Peripheral.ID] {
        let adapter = adapter(of: link.port)
        guard device.hasPrivateAddress, device.records[adapter]?.bond != nil else { return [link.name] }
        var names = [link.name]
        for other in [name(of: device, on: adapter), device.id] where !names.contains(other) { names.append(other) }
        return names
    }

    /// Whether an adapter reaches a peripheral under an id: its present address or, with a bond, its identity address.
    func reaches(_ device: SimulatedDevice, as id: Peripheral.ID, on adapter: String) -> Bool {
        guard device.hasPrivateAddress else { return true }
        return id == name(of: device, on: adapter) || id == device.id && device.records[adapter]?.bond != nil
    }

    /// Whether a central can connect to a peripheral by an id.
    func isKnown(_ id: Peripheral.ID, _ port: Int) -> Bool {
        guard let own = ports[port] else { return false }
        if own.known.contains(id) { return true }
        guard let device = peripherals[id] else { return false }
        // Another client of bluetoothd may have connected to it.
        if isLinked(device, as: id, port) { return true }
        return device.records[own.adapter]?.bond != nil && reaches(device, as: id, on: own.adapter)
    }

    // MARK: Tests

    /// Returns the new address. Nil if there is no such peripheral.
    @discardableResult
    func rotateAddress(of id: Peripheral.ID) -> Peripheral.ID? {
        guard let device = peripherals[id] else { return nil }
        let former = device.address
        // The top two bits of a resolvable private address are 01.
        device.address = device.identityKey.map { unusedAddress(of: $0) } ?? unusedID(prefix: "40:00")
        device.hasPrivateAddress = true
        // Without a bond, an adapter has never heard of the new address.
        device.records = device.records.filter { $0.value.bond != nil }
        peripherals.addName(device.address, of: device)
        log(fault: "rotateAddress to \(device.address)", of: device.id)
        forgetLater(former, of: device)
        updateAdvertising(device, anew: true)
        linkPending(device.id)
        return device.address
    }

    private func unusedAddress(of key: IdentityResolvingKey) -> Peripheral.ID {
        while true {
            let address = key.address(random: UInt32(truncatingIfNeeded: number()))
            let id = Peripheral.ID(rawValue: address.map { Hex.string([$0]) }.joined(separator: ":"))
            if peripherals[id] == nil { return id }
        }
    }

    func setIdentityKey(_ key: IdentityResolvingKey?, of id: Peripheral.ID) { peripherals[id]?.identityKey = key }

    func rotateAddress(of id: Peripheral.ID, every interval: Duration?) {
        precondition(interval.map { $0 > .zero } ?? true, "an interval of \(interval, default: "") is not positive")
        guard let device = peripherals[id] else { return }
        device.rotation?.cancel()
        device.rotation = interval.map { interval in
            Task(executorPreference: tasks) { [weak self, clock] in
                while (try? await clock.sleep(for: interval)) != nil, await self?.rotateAgain(id) != nil {}
            }
        }
    }

    /// Rotates in the task of a rotation, which may have been ended before its turn.
    private func rotateAgain(_ id: Peripheral.ID) -> Peripheral.ID? {
        Task.isCancelled ? nil : rotateAddress(of: id)
    }

    func address(of id: Peripheral.ID) -> Peripheral.ID { peripherals[id]?.address ?? id }

    // MARK: Former addresses

    func forgetLater(_ name: Peripheral.ID, of device: SimulatedDevice) {
        _ = Task.after(Self.memory, clock: clock, on: self, executor: tasks) { [id = device.id] radio in
            if let device = radio.peripherals[id] { radio.forget(name, of: device) }
        }
    }

    /// Forgets an address that a peripheral no longer has. One with a link is forgotten after its end.
    private func forget(_ name: Peripheral.ID, of device: SimulatedDevice) {
        guard device.address != name else { return }
        for port in orderedPorts {
            guard !reaches(device, as: name, on: port.adapter), device.links[port.number]?.name != name,
                !port.forget([name]).isEmpty
            else { continue }
            port.handle(.peripheralRemoved(name))
        }
        removeNameIfUnused(name, of: device)
    }

    func removeNameIfUnused(_ name: Peripheral.ID, of device: SimulatedDevice) {
        guard name != device.address, !device.links.values.contains(where: { $0.name == name }),
            !device.records.values.contains(where: { $0.name == name })
        else { return }
        peripherals.removeName(name)
    }

    /// A bluetoothd that starts anew knows peripherals with a bond by their identity addresses, and no scan responses.
    ///
    /// - Parameter adapter: nil for all.
    func forgetContent(on adapter: String? = nil) {
        for device in peripherals.all {
            for own in device.records.keys where adapter == nil || own == adapter {
                device.records[own]?.scanResponse = nil
                guard let name = device.records[own]?.name else { continue }
                device.records[own]?.name = nil
                removeNameIfUnused(name, of: device)
            }
        }
    }
}
