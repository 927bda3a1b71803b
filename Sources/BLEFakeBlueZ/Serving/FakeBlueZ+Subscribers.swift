import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Loop
import Synchronization
import Waiting

/// The subscribers of what clients serve, and the values that clients send to them.
extension FakeBlueZ {
    func subscribed(_ attribute: ServedAttribute, _ central: Peripheral.ID, _ attMTU: Int?) async {
        if await acquired(attribute, central, attMTU) { return }
        serving?.applications[attribute.application]?.subscribers[attribute, default: []].insert(central)
        // Called for each central, without its address, as observed with 5.66; `StopNotify` is called for the last one
        // only. Neither has an answer.
        try? await tell(attribute, "StartNotify", [])
    }

    func unsubscribed(_ attribute: ServedAttribute, _ central: Peripheral.ID) async {
        if closeSocket(of: central, attribute) { return }
        serving?.applications[attribute.application]?.subscribers[attribute]?.remove(central)
        let set = serving?.applications[attribute.application]?.subscribers[attribute] ?? []
        if set.isEmpty { try? await tell(attribute, "StopNotify", []) }
    }

    /// The link of a central has begun or ended.
    func centralChanged(_ central: Peripheral.ID, isConnected: Bool) {
        if devices[central] != nil {
            devices[central]?.isConnected = isConnected
            return changed(path(of: central), BlueZ.device, ["Connected": .boolean(isConnected)])
        }
        guard isConnected else { return }
        var device = FakeDevice(id: central, advertisement: BLE.Advertisement(), adapter: adapterPath)
        device.isInRange = false
        device.isConnected = isConnected
        show(device)
    }

    /// A client's signal that a value has changed, on the bus thread.
    nonisolated func clientChanged(_ message: IncomingMessage) {
        let path = message.path.string
        var body = message.body
        guard (try? body.string()) == BlueZ.gattCharacteristic else { return }
        var value: [UInt8]?
        try? body.forEachProperty { (name, reader) throws(DBusError) in
            if name.string == "Value" { value = try? reader.bytes() }
        }
        guard let value else { return }
        signaledValues.withLock { values in
            if values.count >= 10_000 { values.removeFirst(values.count / 2) }
            values.append(value)
        }
        let signal = FakeArrivals.Value.signal(value, path: path, client: message.sender.string)
        for adapter in [self] + publishedOthers.withLock(\.self) {
            adapter.arrivedValues.withLock { $0.append(signal: signal) }
            Task { await adapter.sendValues() }
        }
    }

    /// A client has written a value to a socket. On the bus thread. Returns whether there is room for another.
    private nonisolated func packetArrived(_ packet: FakeArrivals.Value, from socket: PacketSocket) -> Bool {
        defer { Task { await self.sendValues() } }
        return arrivedValues.withLock { $0.append(packet: packet, from: socket) }
    }

    private func sendValues() async {
        // One task sends them all, in the order of their arrival, as the daemon's loop does.
        guard !isSendingValues else { return }
        isSendingValues = true
        defer { isSendingValues = false }
        while let (next, resumed) = arrivedValues.withLock({ $0.popFirst() }) {
            for socket in resumed { loop.perform { socket.resume() } }
            guard let serving else { continue }
            guard case .signal(let value, let path, let client) = next else {
                if case .packet(let packet, let attribute, let central) = next {
                    if serving.applications[attribute.application]?.indicating.contains(attribute) == true {
                        // This send waits for its confirmation, and other values do not wait for it.
                        Task { await self.send(packet, from: attribute, to: central) }
                    } else {
                        await send(packet, from: attribute, to: central)
                    }
                }
                continue
            }
            for (_, application) in serving.applications where application.client == client {
                guard let attribute = application.attributes[path] else { continue }
                guard application.indicating.contains(attribute) else {
                    try? await serving.backend.notify(value, from: attribute, to: nil)
                    continue
                }
                // Other values do not wait for the confirmation.
                Task {
                    guard (try? await serving.backend.indicate(value, from: attribute, to: nil)) != nil,
                        confirmsSignals
                    else { return }
                    _ = try? await self.called(attribute, "Confirm", [])
                }
            }
        }
    }

    // MARK: Sockets

    // By the rules of the daemon's `src/gatt-database.c` from 5.80 on.

    /// Asks the client for a socket, if the client supports that. Returns whether the central has one.
    func acquired(_ attribute: ServedAttribute, _ central: Peripheral.ID, _ attMTU: Int?) async -> Bool {
        guard serving?.applications[attribute.application]?.acquiring.contains(attribute) == true, minorVersion >= 80,
            let descriptor = try? await acquire(attribute, central, attMTU)
        else { return false }
        let socket = PacketSocket(descriptor, on: loop)
        open(socket) { [weak self, weak socket] packet in
            guard let self, let socket else { return true }
            return packetArrived(.packet(packet, attribute, central), from: socket)
        } onEnd: { daemon, socket in
            guard daemon.serving?.applications[attribute.application]?.sockets[attribute]?[central] === socket else {
                return
            }
            daemon.serving?.applications[attribute.application]?.sockets[attribute]?[central] = nil
        }
        // The link may have ended meanwhile.
        guard serving?.applications[attribute.application] != nil, devices[central]?.isConnected == true else {
            close(socket)
            return true
        }
        serving?.applications[attribute.application]?.sockets[attribute, default: [:]][central] = socket
        return true
    }

    /// Sends what a client has written to the socket of a subscriber. Returns once the central has confirmed it.
    func send(_ packet: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID) async {
        guard let backend = serving?.backend, let application = serving?.applications[attribute.application] else {
            return
        }
        guard application.indicating.contains(attribute) else {
            try? await backend.notify(packet, from: attribute, to: central)
            return
        }
        guard (try? await backend.indicate(packet, from: attribute, to: central)) != nil else { return }
        _ = try? serving?.applications[attribute.application]?.sockets[attribute]?[central]?.send([1])
    }

    private func acquire(
        _ attribute: ServedAttribute, _ central: Peripheral.ID, _ attMTU: Int?
    ) async throws(ATTError) -> FileDescriptor {
        let request = AttributeRequest(central: central, transport: .le, attMTU: attMTU)
        let reply = try await called(attribute, "AcquireNotify", [options(request)])
        guard let descriptor = reply.descriptors.first, reply.values.count == 2 else { throw .unlikelyError }
        return descriptor
    }

    /// A central has unsubscribed. Returns whether it had a socket.
    func closeSocket(of central: Peripheral.ID, _ attribute: ServedAttribute) -> Bool {
        guard
            let socket = serving?.applications[attribute.application]?.sockets[attribute]?.removeValue(forKey: central)
        else { return false }
        close(socket)
        return true
    }

    func closeSockets(of central: Peripheral.ID) {
        for application in serving?.applications.values.map(\.self) ?? [] {
            for attribute in application.sockets.keys { _ = closeSocket(of: central, attribute) }
        }
    }

    // MARK: Centrals that are not on the radio

    /// A central that only the daemon knows connects, or disconnects.
    func pretend(_ central: Peripheral.ID, isConnected: Bool, isPaired: Bool = false) {
        centralChanged(central, isConnected: isConnected)
        guard isPaired, devices[central]?.isPaired == false else { return }
        devices[central]?.isPaired = true
        changed(devices[central]?.path ?? "", BlueZ.device, ["Bonded": .boolean(true), "Paired": .boolean(true)])
    }

    /// Such a central writes to the first characteristic with sockets.
    func pretendToWrite(_ value: [UInt8], _ central: Peripheral.ID) async {
        for application in serving?.applications.values.map(\.self) ?? [] {
            guard let attribute = application.acquiring.first else { continue }
            let request = AttributeRequest(central: central, transport: .le, attMTU: 247)
            _ = try? await called(attribute, "WriteValue", [.bytes(value), options(request)])
        }
    }

    /// Such a central writes, and its link ends at once. Returns when the bus has both messages, whether or not the
    /// client has received them.
    func pretendToWriteAndLeave(_ value: [UInt8], _ central: Peripheral.ID) async {
        _ = Task.immediate { await self.pretendToWrite(value, central) }
        await pretendToLeave(central)
    }

    /// Such a central subscribes, and its link ends at once. Returns when the bus has both messages; the task returns
    /// whether the client has given a socket.
    func pretendToSubscribeAndLeave(_ central: Peripheral.ID) async -> Task<Bool, Never> {
        let subscribing = Task.immediate { (try? await self.pretendToSubscribe(central)) != nil }
        await pretendToLeave(central)
        return subscribing
    }

    private func pretendToLeave(_ central: Peripheral.ID) async {
        // The call of the client is sent before the signal.
        _ = try? await session?.call(.bus("GetId"), timeout: timeouts.call)
        centralChanged(central, isConnected: false)
        for _ in 0..<2 { _ = try? await session?.call(.bus("GetId"), timeout: timeouts.call) }
    }

    /// From now on, values that are signaled to all are confirmed by ``confirm()`` only.
    func confirmNoSignals() { confirmsSignals = false }

    /// Such a central has confirmed a value that was signaled, of the first characteristic with sockets.
    func confirm() async {
        for application in serving?.applications.values.map(\.self) ?? [] {
            guard let attribute = application.acquiring.first else { continue }
            _ = try? await called(attribute, "Confirm", [])
        }
    }

    /// Such a central subscribes to the first characteristic with sockets. Returns the daemon's end of its socket.
    func pretendToSubscribe(_ central: Peripheral.ID) async throws -> FileDescriptor {
        for application in serving?.applications.values.map(\.self) ?? [] {
            guard let attribute = application.acquiring.first else { continue }
            return try await acquire(attribute, central, 247)
        }
        throw BLEError(.failed, "nothing has sockets")
    }
}
