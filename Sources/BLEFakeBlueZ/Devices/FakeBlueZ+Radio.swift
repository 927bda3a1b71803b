public import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Loop
import Synchronization

/// What the radio tells of devices.
extension FakeBlueZ {
    func handle(_ event: CentralBackendEvent) {
        switch event {
        case .advertisementReceived(let id, let advertisement):
            Task {
                // The scan may have ended meanwhile, and with it what is known of strengths.
                if isDiscovering || hasMonitors || isKernelDiscovering { heard(id, advertisement) }
            }
        case .linkEnded(let id, _): linkEnded(id)
        case .pairingEnded(let id): Task.immediate { await self.publishPairing(id) }
        case .servicesChanged(let id): Task.immediate { await self.servicesChanged(id) }
        case .peripheralRemoved(let id): forget(id)
        case .adapterStateChanged, .scanEnded, .notificationsEnded, .radioChanged, .stackLost: break
        }
    }

    private func heard(_ id: Peripheral.ID, _ advertisement: Advertisement) {
        // No adapter receives itself.
        guard isPresent, passesKernel(advertisement), id != serving?.peripheral else { return }
        if isDiscovering || isKernelDiscovering { kernelManagement.send(advertisement, from: id, adapter: name) }
        // The daemon takes no notice of what others scan for (`btd_adapter_device_found` in its `src/adapter.c`, from
        // 5.56 on).
        guard session != nil, isDiscovering || hasMonitors else { return }
        if let device = devices[id] {
            let changes = device.changes(from: device.advertisement, to: advertisement)
            let repeated = FakeDevice.repeated(advertisement)
            devices.receive(advertisement, from: id)
            loop.perform { [weak self] in
                self?.published.withLock { published in
                    for (name, value) in changes { published[id]?[name] = value }
                    published[id]?.merge(repeated) { $1 }
                }
            }
            var shown = changes.compactMapValues(\.self).merging(repeated) { $1 }
            if !showsSignalStrength(advertisement, of: device) { shown["RSSI"] = nil }
            changed(device.path, BlueZ.device, shown)
            tellMonitors(device.path, advertisement)
            return
        }
        var device = FakeDevice(id: id, advertisement: advertisement, adapter: adapterPath)
        (device.isExperimental, device.minorVersion) = (isExperimental, minorVersion)
        show(device)
        tellMonitors(device.path, advertisement)
    }

    /// A device is no longer received under an address that is not its own (`device_disappeared` in the daemon's
    /// `src/device.c`).
    private func forget(_ id: Peripheral.ID) {
        guard let device = devices[id], !device.isPaired, !device.isConnected else { return }
        endWaits(id)
        removeAttributes(of: device)
        devices[id] = nil
        removed([(device.path, BlueZ.device)])
    }

    /// Removes the devices that no program has connected to or paired with, as the daemon does before it tells the
    /// kernel to switch the adapter off (`remove_temporary_devices` in its `src/adapter.c`). Until the kernel does,
    /// advertisements are still received.
    func removeHeardDevices() {
        let heard = devices.values.filter { $0.isTemporary && $0.isInRange }
        for device in devices.values where device.isTemporary { forget(device.id) }
        guard faults.hearsWhileSwitchingOff, isDiscovering else { return }
        for device in heard { self.heard(device.id, device.advertisement) }
    }

    /// Shows the devices that were stored when the daemon ended, or the adapter was taken out.
    func showStored() {
        for device in stored { show(device) }
        stored = []
    }

    /// A device that was not known gets its object.
    func show(_ device: FakeDevice) {
        let id = device.id
        devices[id] = device
        export(device.path, Interfaces.device) { daemon, call in
            await Self.$peer.withValue(id) { await daemon.deviceCall(id, call) }
        } property: { [weak self] name in
            self?.published.withLock { $0[id]?[name] }
        }
        emit(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [.objectPath(device.path), interfaces([BlueZ.device: device.properties])])
    }

    private func linkEnded(_ id: Peripheral.ID) {
        endSockets(of: id)
        guard let device = devices[id], device.isConnected else { return }
        devices[id]?.isConnected = false
        devices[id]?.ended = .now
        devices[id]?.areServicesResolved = false
        devices[id]?.packetLength = nil
        devices[id]?.linkPacketLength = nil
        endWaits(id)
        removeBattery(of: device)
        if let reason = faults.reason {
            emit(device.path, BlueZ.device, "Disconnected", [.string(reason.name), .string(reason.message)])
        }
        changed(device.path, BlueZ.device, ["ServicesResolved": .boolean(false), "Connected": .boolean(false)])
    }

    /// Sets the signal strength of an advertisement that was received from a connected peripheral.
    public func setSignalStrength(_ strength: Int?, of id: Peripheral.ID) {
        devices[id]?.advertisement.rssi = strength
        devices[id]?.isInRange = strength != nil
    }
}
