public import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Logging
import Loop

/// The daemon's end of a socket of `AcquireWrite`, and the task that writes its packets to the peripheral. The socket
/// is not read while the task has no room for another packet.
struct FakeWriteSocket {
    let socket: PacketSocket
    let writing: Task<Void, Never>
}

/// AcquireNotify and AcquireWrite, by the rules of the daemon's `src/gatt-client.c`.
extension FakeBlueZ {
    private typealias Answer = Result<MethodReply, DBusError>

    private static let writeAcquired = Answer.failure(.bluez("NotPermitted", "Write acquired"))
    private static let notifyAcquired = Answer.failure(.bluez("NotPermitted", "Notify acquired"))
    private static let notSupported = Answer.failure(.bluez("NotSupported", "Operation is not supported"))

    /// The answer to a call that involves sockets; nil for any other call.
    func socketCall(
        _ place: AttributeID, _ attribute: FakeDevice.Attribute, _ call: IncomingCall
    ) async -> Result<MethodReply, DBusError>? {
        switch call.method {
        case "WriteValue" where writeSockets[place] != nil: return Self.writeAcquired
        case "StartNotify" where hasNotifySocket(place): return Self.notifyAcquired
        case "StopNotify":
            // Whoever asks: the socket is destroyed.
            if unmadeSockets.remove(place) != nil { return .success(MethodReply()) }
            guard notifySockets[place] != nil else { return nil }
            await destroyNotifySocket(place, attribute.path)
            return .success(MethodReply())
        case "AcquireNotify": return await acquireNotify(place, attribute)
        case "AcquireWrite": return await acquireWrite(place, attribute)
        default: return nil
        }
    }

    private func properties(_ place: AttributeID) -> CharacteristicProperties {
        let characteristics = devices[place.peripheral]?.database?.flatMap { $0 } ?? []
        return characteristics.first { $0.handle == place.handle }?.properties ?? []
    }

    private func acquireNotify(_ place: AttributeID, _ attribute: FakeDevice.Attribute) async -> Answer {
        guard let packetLength = devices[place.peripheral]?.linkPacketLength else { return Self.notConnected }
        guard !hasNotifySocket(place) else { return Self.notifyAcquired }
        guard !isNotifying(place) else {
            return .failure(.bluez("InProgress", "Operation already in progress"))
        }
        guard properties(place).contains(.notify) else { return Self.notSupported }
        guard let (ours, theirs) = try? PacketSocket.pair() else { return Self.notConnected }
        let link = devices[place.peripheral]?.links
        // From now on: another call may come before the peripheral's answer.
        unmadeSockets.insert(place)
        do throws(BLEError) {
            // Values that arrive before there is a socket are lost, and so are values that the socket has no room for.
            try await backend.startNotifications(of: place) { [weak self] value in
                self?.assumeIsolated { _ = try? $0.notifySockets[place]?.send(value) }
            }
        } catch {
            if isLost(error, on: place.peripheral) {
                await neverAnswer(place.peripheral)
            } else {
                unmadeSockets.remove(place)
            }
            return .failure(Self.answer(error))
        }
        // Another client may have called StopNotify, or the link has ended.
        guard unmadeSockets.remove(place) != nil, devices[place.peripheral]?.isConnected == true,
            devices[place.peripheral]?.links == link
        else {
            if !isNotifying(place), !hasNotifySocket(place) { try? await backend.stopNotifications(of: place) }
            return Self.notConnected
        }
        let socket = open(PacketSocket(ours, on: loop)) { _ in
            true
        } onEnd: { daemon, socket in
            guard daemon.notifySockets[place] === socket else { return }
            await daemon.destroyNotifySocket(place, attribute.path)
        }
        notifySockets[place] = socket
        setUse("NotifyAcquired", of: place, true)
        return .success(
            MethodReply(
                [.unixFD(0), .uint16(UInt16(packetLength))], descriptors: [theirs],
                signals: [Self.signal(attribute.path, attribute.interface, ["NotifyAcquired": .boolean(true)])]))
    }

    /// Whether a client has the socket of a characteristic's notifications, or would have it if its call had not been
    /// lost with the link (`notify_io`).
    private func hasNotifySocket(_ place: AttributeID) -> Bool {
        notifySockets[place] != nil || unmadeSockets.contains(place)
    }

    private func destroyNotifySocket(_ place: AttributeID, _ path: String) async {
        guard let socket = notifySockets.removeValue(forKey: place) else { return }
        setUse("NotifyAcquired", of: place, false)
        close(socket)
        try? await backend.stopNotifications(of: place)
        changed(path, BlueZ.gattCharacteristic, ["NotifyAcquired": .boolean(false)])
    }

    private func acquireWrite(_ place: AttributeID, _ attribute: FakeDevice.Attribute) async -> Answer {
        guard let packetLength = devices[place.peripheral]?.linkPacketLength else { return Self.notConnected }
        guard writeSockets[place] == nil else { return Self.writeAcquired }
        guard properties(place).contains(.writeWithoutResponse) else { return Self.notSupported }
        guard let (ours, theirs) = try? PacketSocket.pair() else { return Self.notConnected }
        let loop = loop
        // Of a longer packet, the daemon writes the first 512 bytes (`sock_read`).
        let socket = PacketSocket(ours, on: loop, maximumLength: 512)
        let (packets, arrivals) = BoundedStream.make(of: [UInt8].self, policy: .fail(capacity: 16)) {
        } onRoom: {
            loop.perform { socket.resume() }
        }
        open(socket) { packet in
            arrivals.offer(packet)
        } onEnd: { daemon, socket in
            arrivals.finish()
            guard daemon.writeSockets[place]?.socket === socket else { return }
            daemon.writeSockets[place] = nil
            daemon.setUse("WriteAcquired", of: place, false)
            daemon.changed(attribute.path, attribute.interface, ["WriteAcquired": .boolean(false)])
        }
        let writing = Task { [backend, logger] in
            do {
                for try await packet in packets where !Task.isCancelled {
                    do throws(BLEError) {
                        _ = try await backend.perform(.write(packet, type: .withoutResponse, offset: 0), on: place)
                    } catch {
                        // As the daemon does, which tells nobody, with what does not fit a packet of the link.
                        logger.debug(
                            "packet of a socket dropped",
                            metadata: ["length": "\(packet.count)", "error": "\(error.message)"])
                    }
                }
            } catch {}
        }
        writeSockets[place] = FakeWriteSocket(socket: socket, writing: writing)
        setUse("WriteAcquired", of: place, true)
        return .success(
            MethodReply(
                [.unixFD(0), .uint16(UInt16(packetLength))], descriptors: [theirs],
                signals: [Self.signal(attribute.path, attribute.interface, ["WriteAcquired": .boolean(true)])]))
    }

    private static let notConnected = Answer.failure(.bluez("Failed", "Not connected"))

    /// Watches the daemon's end of a socket on the bus thread.
    ///
    /// - Parameter onPacket: receives each packet. Returns false if there is no room for another.
    @discardableResult
    func open(
        _ socket: PacketSocket, onPacket: @escaping @Sendable ([UInt8]) -> Bool,
        onEnd: @escaping @Sendable (isolated FakeBlueZ, PacketSocket) async -> Void
    ) -> PacketSocket {
        loop.perform { [weak self] in
            socket.open(onPacket: onPacket) { [weak socket] in
                guard let self, let socket else { return }
                Task.immediate { await onEnd(self, socket) }
            }
        }
        return socket
    }

    func close(_ socket: PacketSocket) {
        loop.perform { socket.close() }
    }

    /// The link has ended, and with it the sockets of all clients. (Clients that have called `StartNotify` get
    /// notifications on the next link, too.)
    ///
    /// - Parameter handles: the characteristics whose sockets end. Nil for all.
    func endSockets(of id: Peripheral.ID, handles: Set<UInt16>? = nil) {
        func isAffected(_ place: AttributeID) -> Bool {
            place.peripheral == id && handles?.contains(place.handle) != false
        }
        for (place, socket) in notifySockets where isAffected(place) {
            notifySockets[place] = nil
            endUse("NotifyAcquired", of: place)
            close(socket)
        }
        for (place, socket) in writeSockets where isAffected(place) {
            writeSockets[place] = nil
            endUse("WriteAcquired", of: place)
            socket.writing.cancel()
            close(socket.socket)
        }
    }

    private func endUse(_ use: String, of place: AttributeID) {
        setUse(use, of: place, false)
        guard let path = attribute(place)?.path else { return }
        changed(path, BlueZ.gattCharacteristic, [use: .boolean(false)])
    }

    /// How many sockets the daemon has handed out.
    public var socketCount: Int { notifySockets.count + writeSockets.count }

    /// Another client calls StopNotify.
    public func stopNotifications(of characteristic: BluetoothUUID) async {
        for place in notifySockets.keys {
            guard let device = devices[place.peripheral],
                let attribute = device.attributes.first(where: { $0.handle == place.handle }),
                device.database?.contains(where: { $0[handle: place.handle]?.uuid == characteristic }) == true
            else { continue }
            await destroyNotifySocket(place, attribute.path)
        }
    }
}
