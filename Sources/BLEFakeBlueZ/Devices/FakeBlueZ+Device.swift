public import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Synchronization

extension FakeBlueZ {
    // MARK: Device1

    func deviceCall(_ id: Peripheral.ID, _ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch call.method {
        case "Connect": await connect(id)
        case "Pair": await pair(id, call.sender)
        case "CancelPairing": cancelPairing(id)
        case "Set": await set(id, call)
        default: await disconnect(id)
        }
    }

    func connect(_ id: Peripheral.ID) async -> Result<MethodReply, DBusError> {
        // A call that arrived right before the daemon's end is not carried out.
        guard session != nil else { return .failure(.bluez("Failed", "gone")) }
        guard isPowered else { return .failure(.bluez("NotReady", "Resource Not Ready")) }
        if devices[id]?.isConnected == true { return .success(MethodReply()) }
        if let ended = devices[id]?.ended {
            let pause = ContinuousClock.now - ended
            shortestPause = min(shortestPause ?? pause, pause)
        }
        if faults.abortsConnection, let path = devices[id]?.path {
            faults.abortsConnection = false
            changed(path, BlueZ.device, ["Connected": .boolean(true)])
            devices[id]?.isConnected = true
            Task {
                await waitWhileHanging("Disconnected")
                devices[id]?.isConnected = false
                changed(path, BlueZ.device, ["Connected": .boolean(false)])
            }
            return .failure(.bluez("Failed", "le-connection-abort-by-local"))
        }
        if let device = devices[id], device.advertisement.deviceClass != nil, !faults.hasClassicProfile {
            return browseClassic(device)
        }
        devices[id]?.linkCapability = kernelCapability
        // The kernel does not scan while it makes a link.
        await endKernelDiscovery()
        let task = Task { () async -> BLEError? in
            do throws(BLEError) {
                try await self.backend.connect(id)
                return nil
            } catch {
                return error
            }
        }
        devices[id]?.connecting = task
        defer { devices[id]?.connecting = nil }
        if let error = await task.value {
            return .failure(
                .bluez(
                    "Failed", error.code == .cancelled ? "br-connection-canceled" : "le-connection-abort-by-local"))
        }
        let told = try? await backend.attMTU(id)
        // The link may have ended since. From here to the signal, nothing else runs on this actor.
        guard hasLink(id) else { return .failure(.bluez("Failed", "br-connection-canceled")) }
        guard let path = devices[id]?.path else { return .failure(.bluez("Failed", "gone")) }
        devices[id]?.isConnected = true
        kernelManagement.tellConnected(id, adapter: name)
        devices[id]?.isUnapproved = false
        devices[id]?.links += 1
        let packetLength = faults.packetLength ?? told
        devices[id]?.linkPacketLength = packetLength
        if faults.showsPacketLength { devices[id]?.packetLength = packetLength }
        if faults.signalsConnected { changed(path, BlueZ.device, ["Connected": .boolean(true)]) }
        Task { await self.resolveServices(id) }
        return .success(MethodReply())
    }

    /// Asks a Classic device for its services, unless they are known; the daemon has no profile for any of them. The
    /// link that this needs ends after the answer, and its end can be made to ``hang(_:)`` as "Disconnected".
    private func browseClassic(_ device: FakeDevice) -> Result<MethodReply, DBusError> {
        if device.links == 0 {
            devices[device.id]?.links = 1
            devices[device.id]?.isConnected = true
            devices[device.id]?.areServicesResolved = true
            changed(device.path, BlueZ.device, ["Connected": .boolean(true)])
            changed(device.path, BlueZ.device, ["ServicesResolved": .boolean(true)])
            Task {
                await waitWhileHanging("Disconnected")
                devices[device.id]?.isConnected = false
                devices[device.id]?.areServicesResolved = false
                changed(device.path, BlueZ.device, ["ServicesResolved": .boolean(false)])
                changed(device.path, BlueZ.device, ["Connected": .boolean(false)])
            }
        }
        return .failure(.bluez("Failed", "br-connection-profile-unavailable"))
    }

    /// Whether the radio has a link to a peripheral. The answer needs no suspension, because the backend has this
    /// actor's executor.
    private func hasLink(_ id: Peripheral.ID) -> Bool {
        backend.assumeIsolated { $0.knownPeripherals() }.contains { $0.id == id && $0.isConnected }
    }

    /// Exports the attributes, and then sets the property that the services are resolved.
    private func resolveServices(_ id: Peripheral.ID) async {
        let link = devices[id]?.links
        // The services are resolved even if their discovery has failed (`gatt_client_ready_cb` in the daemon's
        // `src/device.c`); then there are none.
        let database = (try? await backend.discoverServices(id)) ?? GATTDatabase(services: [])
        guard let former = devices[id], former.links == link, hasLink(id) else { return }
        // They may have changed since the last link.
        let kept = takeServices(database, of: former)
        guard let device = devices[id] else { return }
        await readBattery(of: device, link)
        guard let device = devices[id] else { return }
        showAttributes(of: device, besides: kept)
        if !faults.resolvesServices { await waitWhileHanging("ServicesResolved") }
        guard devices[id]?.isConnected == true, devices[id]?.links == link else { return }
        devices[id]?.areServicesResolved = true
        await renewNotifying(id)
        var resolved: [String: DBusValue] = ["ServicesResolved": .boolean(true)]
        if device.services != (link == 1 ? device.advertisement.serviceUUIDs : former.services) {
            resolved["UUIDs"] = .strings(device.services.map(\.fullDescription))
        }
        changed(device.path, BlueZ.device, resolved)
    }

    /// Reads the battery level of a new link, and shows it (`profiles/battery/battery.c` of the daemon, which also
    /// subscribes to it).
    private func readBattery(of device: FakeDevice, _ link: Int?) async {
        let services = device.database?.services.filter { $0.uuid == BluetoothUUID(0x180F) } ?? []
        let level = services.flatMap(\.characteristics).first {
            $0.uuid == BluetoothUUID(0x2A19) && $0.properties.contains(.read)
        }
        guard readsBatteries, let handle = level?.handle else { return }
        let place = AttributeID(peripheral: device.id, handle: handle)
        guard let value = try? await backend.perform(.read(offset: 0), on: place), let level = value.first,
            devices[device.id]?.links == link, devices[device.id]?.isConnected == true
        else { return }
        devices[device.id]?.battery = level
        let properties = device.batteryProperties(level)
        export(device.path, Interfaces.battery) { _, _ in
            .failure(.bluez("NotSupported", "Operation is not supported"))
        } property: { name in
            properties[name]
        }
        emit(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [
                .objectPath(device.path),
                .dictionary(
                    key: "s", value: "a{sv}",
                    [.string(FakeDevice.batteryInterface): .options(properties)]),
            ])
    }

    /// The link has ended, and with it what is known of the battery.
    func removeBattery(of device: FakeDevice) {
        guard device.battery != nil else { return }
        devices[device.id]?.battery = nil
        removed(device.path, [FakeDevice.batteryInterface])
        unexport(device.path, FakeDevice.batteryInterface)
    }

    private func showAttributes(of device: FakeDevice, besides kept: Set<String> = []) {
        let new = device.attributes.filter { !kept.contains($0.path) }
        for attribute in new { serve(attribute, of: device.id) }
        for attribute in new {
            emit(
                "/", BlueZ.objectManager, "InterfacesAdded",
                [.objectPath(attribute.path), interfaces([attribute.interface: attribute.properties])])
        }
    }

    /// Removes all attributes of a device and adds them again, as after a Service Changed indication.
    public func renewAttributes(of id: Peripheral.ID) {
        guard let device = devices[id] else { return }
        removeAttributes(of: device)
        showAttributes(of: device)
    }

    /// The peripheral has told that its services have changed. Those that are as before keep their objects.
    func servicesChanged(_ id: Peripheral.ID) async {
        guard let before = devices[id], before.isConnected, before.database != nil,
            let database = try? await backend.discoverServices(id), devices[id]?.links == before.links
        else { return }
        let kept = takeServices(database, of: before)
        guard let after = devices[id] else { return }
        showAttributes(of: after, besides: kept)
        if after.services != before.services {
            changed(after.path, BlueZ.device, ["UUIDs": .strings(after.services.map(\.fullDescription))])
        }
    }

    /// Takes the services that were discovered, which are among the managed objects from then on, and removes the
    /// objects of those that are no longer there as they were. Returns the paths of the others.
    private func takeServices(_ discovered: GATTDatabase, of device: FakeDevice) -> Set<String> {
        var after = device
        after.take(discovered)
        defer {
            devices[device.id]?.database = after.database
            devices[device.id]?.discovered = after.discovered
        }
        let present = Set(after.database?.services ?? [])
        let unchanged = GATTDatabase(services: device.database?.services.filter(present.contains) ?? [])
        let kept = Set(device.attributes(of: unchanged).map(\.path))
        removeAttributes(of: device, besides: kept)
        return kept
    }

    /// Removes the objects of a device's attributes, and with them what it knows of their use: requests in progress are
    /// dropped without an answer (`unregister_characteristic` in the daemon's `src/gatt-client.c`).
    func removeAttributes(of device: FakeDevice, besides kept: Set<String> = []) {
        let gone = device.attributes.filter { !kept.contains($0.path) }
        let (paths, handles) = (Set(gone.map(\.path)), Set(gone.map(\.handle)))
        devices[device.id]?.lost = device.lost.filter { !paths.contains($0[1]) }
        writing.subtract(paths)
        for handle in handles { devices[device.id]?.values[handle] = nil }
        for place in notifying where place.peripheral == device.id && handles.contains(place.handle) {
            clearNotifying(place)
            devices[device.id]?.uses[place.handle] = nil
        }
        unmadeSockets = unmadeSockets.filter { $0.peripheral != device.id || !handles.contains($0.handle) }
        endSockets(of: device.id, handles: handles)
        removed(gone.reversed().map { ($0.path, $0.interface) })
    }

    private func serve(_ attribute: FakeDevice.Attribute, of id: Peripheral.ID) {
        guard attribute.interface != BlueZ.gattService else { return }
        let description =
            attribute.interface == BlueZ.gattDescriptor ? Interfaces.descriptor : Interfaces.characteristic
        export(attribute.path, description) { daemon, call in
            await Self.$peer.withValue(id) { await daemon.attributeCall(id, attribute, call) }
        } property: { [weak self] name in
            self?.published.withLock { $0[id]?[name] }
        }
    }

    private func disconnect(_ id: Peripheral.ID) async -> Result<MethodReply, DBusError> {
        if let connecting = devices[id]?.connecting {
            connecting.cancel()
            _ = await connecting.value
            // The cancellation may have come too late.
            try? await backend.disconnect(id)
            return .success(MethodReply())
        }
        guard devices[id]?.isConnected == true else {
            return .failure(.bluez("NotConnected", "Not Connected"))
        }
        let link = devices[id]?.links
        try? await backend.disconnect(id)
        // The device may be a central.
        try? await serving?.backend.disconnect(id)
        // A disconnect that fails is answered when the link ends in another way (`disconnect_complete` in the daemon's
        // `src/adapter.c` tells nobody).
        if devices[id]?.isConnected == true, devices[id]?.links == link {
            await withCheckedContinuation { devices[id]?.disconnecting.append($0) }
        }
        return .success(MethodReply())
    }

    // MARK: GattCharacteristic1, GattDescriptor1

    private func attributeCall(
        _ id: Peripheral.ID, _ attribute: FakeDevice.Attribute, _ call: IncomingCall
    ) async -> Result<MethodReply, DBusError> {
        do throws(BLEError) {
            let place = AttributeID(peripheral: id, handle: attribute.handle)
            if attribute.interface == BlueZ.gattCharacteristic, let answer = await socketCall(place, attribute, call) {
                return answer
            }
            if call.method == "ReadValue" || call.method == "WriteValue" {
                if devices[id]?.lost.contains([call.method, attribute.path]) == true {
                    if call.method == "WriteValue" { return .failure(.bluez("InProgress", "In Progress")) }
                    await neverAnswer(id)
                }
                await waitForChannel(id)
            }
            return .success(try await operate(place, attribute, call))
        } catch {
            if isLost(error, on: id) {
                if call.method != "StartNotify" { devices[id]?.lost.insert([call.method, attribute.path]) }
                await neverAnswer(id)
            }
            return .failure(Self.answer(error))
        }
    }

    /// Whether a request is lost that has failed: it waited for a pairing, which was refused. From 5.67 on, it ends
    /// with the link and is not answered, and its attribute has a request in progress for as long as its object exists
    /// (`handle_error_rsp` in the daemon's `src/shared/att.c`).
    func isLost(_ error: BLEError, on id: Peripheral.ID) -> Bool {
        // The client may end the link before the radio has noticed the refusal.
        let isWaiting = error.code == .disconnected && devices[id]?.isUnapproved == true
        return minorVersion >= 67 && (isWaiting || error.code == .pairingRequired && error.attError == nil)
    }

    func neverAnswer(_ id: Peripheral.ID) async {
        devices[id]?.isUnapproved = false
        await withCheckedContinuation { continuation in faults.hung.append(continuation) }
    }

    /// Waits while the channel is held back.
    private func waitForChannel(_ id: Peripheral.ID) async {
        guard devices[id]?.isHeldBack == true else { return }
        await withCheckedContinuation { continuation in devices[id]?.heldBack.append(continuation) }
    }

    /// The link has ended, or the device is no longer known: what waits for that goes on.
    func endWaits(_ id: Peripheral.ID) {
        openChannel(id)
        let waiting = devices[id]?.disconnecting ?? []
        devices[id]?.disconnecting = []
        for continuation in waiting { continuation.resume() }
    }

    /// Sends the requests that were held back, or fails them if the link has ended.
    func openChannel(_ id: Peripheral.ID) {
        let waiting = devices[id]?.heldBack ?? []
        devices[id]?.isHeldBack = false
        devices[id]?.heldBack = []
        for continuation in waiting { continuation.resume() }
    }

    private func operate(
        _ place: AttributeID, _ attribute: FakeDevice.Attribute, _ call: IncomingCall
    ) async throws(BLEError) -> MethodReply {
        let isDescriptor = attribute.interface == BlueZ.gattDescriptor
        let options = call.arguments.last
        let offset = options?[key: "offset"]?.integer ?? 0
        guard (0...Int(UInt16.max)).contains(offset) else { throw BLEError(.invalidOffset) }
        switch call.method {
        case "ReadValue":
            let value = try await backend.perform(isDescriptor ? .readDescriptor : .read(offset: offset), on: place)
            let whole = offset == 0 || isDescriptor ? value : [UInt8](repeating: 0, count: offset) + value
            devices[place.peripheral]?.values[place.handle] = whole
            return MethodReply(
                [.bytes(value)], signals: [Self.signal(attribute.path, attribute.interface, ["Value": .bytes(whole)])])
        case "WriteValue":
            let value = try Self.written(call.arguments.first?.bytes ?? [], offset)
            if isDescriptor {
                try await backend.perform(.writeDescriptor(value), on: place)
            } else {
                let type: WriteType =
                    switch options?[key: "type"]?.string {
                    case "command": .withoutResponse
                    case "reliable": .reliable
                    default: .withResponse
                    }
                try await backend.perform(.write(value, type: type, offset: offset), on: place)
            }
        case "StartNotify":
            try await startNotifying(place, attribute.path, call.sender)
        default:
            try await stopNotifying(place, attribute.path, call.sender)
        }
        return MethodReply()
    }

    /// Returns what the daemon writes of a value: it keeps 16 bits of the length. It leaves values of more than 512
    /// bytes to the peripheral (`bt_gatt_client_write_long_value` in its `src/shared/gatt-client.c`).
    private static func written(_ value: [UInt8], _ offset: Int) throws(BLEError) -> [UInt8] {
        guard value.count + offset > UInt16.max else { return value }
        let written = Array(value.prefix(value.count & Int(UInt16.max)))
        guard !written.isEmpty, written.count + offset <= UInt16.max else { throw BLEError(.failed, "too long") }
        return written
    }

    func deliver(_ value: [UInt8], _ path: String) {
        changed(path, BlueZ.gattCharacteristic, ["Value": .bytes(value)])
    }

    /// BlueZ's message for an error (`create_gatt_dbus_error` in its `src/gatt-client.c`).
    static func answer(_ error: BLEError) -> DBusError {
        switch error.attError {
        case .readNotPermitted: .bluez("NotPermitted", "Read not permitted")
        case .writeNotPermitted: .bluez("NotPermitted", "Write not permitted")
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort:
            .bluez("NotPermitted", "Not paired")
        case .invalidOffset: .bluez("InvalidArguments", "Invalid offset")
        case .invalidAttributeValueLength: .bluez("InvalidArguments", "Invalid Length")
        case .insufficientAuthorization: .bluez("NotAuthorized", "Operation Not Authorized")
        case .requestNotSupported: .bluez("NotSupported", "Operation is not supported")
        case let code?:
            .bluez("Failed", "Operation failed with ATT error: 0x\(Hex.string([code.rawValue]))")
        case nil where error.code == .disconnected: .bluez("Failed", "Not connected")
        case nil where error.code == .failed: .bluez("Failed", "Failed to initiate write")
        case nil: .bluez("Failed", "Operation failed with ATT error: 0x0e")
        }
    }
}
