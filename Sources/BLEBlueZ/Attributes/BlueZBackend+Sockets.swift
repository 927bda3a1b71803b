public import BLE
internal import DBus
internal import Logging

/// The socket over which bluetoothd hands out a characteristic's notifications.
struct NotificationSocket {
    let socket: PacketSocket
    /// The characteristic's path.
    let path: String
}

/// What this client has acquired, or tries to.
struct Acquisition: Hashable {
    let path: String
    let use: AttributeUse
}

extension BlueZBackend {
    /// `AcquireNotify`. What is notified before bluetoothd has made the socket is lost, what comes after it waits there.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        let path = try path(characteristic)
        let (socket, _) = try await acquire(.notifyAcquired, path, characteristic.peripheral)
        // The link may have ended while the answer was on its way, and a backend that leaves ends no more sockets.
        guard !isShutDown, paths[characteristic] == path else { throw BLEError(.disconnected, "the link ended") }
        sockets[characteristic] = NotificationSocket(socket: socket, path: path)
        socket.open(onPacket: deliver) { [weak self, weak socket] in
            self?.assumeIsolated { backend in
                guard let socket, backend.sockets[characteristic]?.socket === socket else { return }
                backend.sockets[characteristic] = nil
                Task { await backend.socketEnded(characteristic, path) }
            }
        }
    }

    /// There is room for more.
    public func resumeNotifications(of characteristic: AttributeID) {
        sockets[characteristic]?.socket.resume()
    }

    /// `AcquireWrite`.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketChannel {
        let path = try path(characteristic)
        let (socket, packetLength) = try await acquire(.writeAcquired, path, characteristic.peripheral)
        let channel = SocketChannel(socket, loop: loop, packetLength: packetLength)
        channel.open()
        return channel
    }

    /// One acquisition of this client's, if it has any, is over.
    func acquisitionEnded(_ acquisition: Acquisition, _ peripheral: Peripheral.ID) {
        guard let count = acquisitions[peripheral]?[acquisition] else { return }
        acquisitions[peripheral]?[acquisition] = count > 1 ? count - 1 : nil
    }

    private func acquire(
        _ use: AttributeUse, _ path: String, _ peripheral: Peripheral.ID
    ) async throws(BLEError) -> (PacketSocket, Int) {
        let acquisition = Acquisition(path: path, use: use)
        acquisitions[peripheral, default: [:]][acquisition, default: 0] += 1
        do throws(BLEError) {
            return try await acquire(use == .notifyAcquired ? "AcquireNotify" : "AcquireWrite", path)
        } catch {
            // Bluetoothd may have given it to who did not wait.
            if error.code != .timedOut, error.code != .cancelled { acquisitionEnded(acquisition, peripheral) }
            throw error
        }
    }

    private func acquire(_ method: String, _ path: String) async throws(BLEError) -> (PacketSocket, Int) {
        let call = BlueZ.call(path, BlueZ.gattCharacteristic, method, .options())
        let reply = try await persisting(at: path, within: .milliseconds(500)) { () throws(BLEError) in
            try await self.call(call, during: .attribute, timeout: Self.attributeTimeout)
        }
        guard let index = reply.values.first?.integer, reply.descriptors.indices.contains(index),
            let packetLength = reply.values.last?.integer, reply.values.count == 2,
            Self.packetLengths ~= packetLength
        else {
            throw BLEError(.failed, "bluetoothd answered without a socket")
        }
        return (PacketSocket(reply.descriptors[index], on: loop), packetLength)
    }

    /// bluetoothd has closed a socket: the link has ended, or another client has stopped the notifications.
    private func socketEnded(_ characteristic: AttributeID, _ path: String) async {
        guard let device = ObjectTree.device(ofAttribute: path) else { return }
        // At the end of a link the socket goes before bluetoothd says so. The packet length then is gone already.
        if (try? await maximumPacketLength(characteristic.peripheral)) == nil {
            try? await wait(forObject: device, within: .seconds(2)) { () throws(BLEError) in
                self.tree.devices[device]?.isConnected == true ? nil : ()
            }
        }
        guard tree.devices[device]?.isConnected == true, sockets[characteristic] == nil else { return }
        logger.debug("a notification socket was taken away", metadata: ["path": "\(path)"])
        report(
            .notificationsEnded(
                characteristic, BLEError(.busy, "another program has stopped the notifications", isRetryable: true)))
    }

    /// The link is down: what has arrived before is delivered, whether or not there is room.
    func endSockets(of peripheral: Peripheral.ID) {
        for (attribute, entry) in sockets.all(of: peripheral) {
            sockets[attribute] = nil
            entry.socket.drain()
            entry.socket.close()
        }
    }

    func endSockets() {
        for peripheral in sockets.peripherals { endSockets(of: peripheral) }
    }
}

/// The socket of a writer.
private final class SocketChannel: PacketChannel {
    let maximumLength: Int
    private let socket: PacketSocket
    private let loop: EventLoop

    init(_ socket: PacketSocket, loop: EventLoop, packetLength: Int) {
        self.socket = socket
        self.loop = loop
        // An attribute holds no more.
        maximumLength = min(packetLength - 3, 512)
    }

    deinit { close() }

    /// Watches for the end, so that whoever waits for room hears of it.
    func open() {
        loop.checkIsolated()
        socket.open(onPacket: nil) {}
    }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        do throws(DBusError) {
            return try socket.send(packet)
        } catch {
            throw BLEError(.disconnected, "bluetoothd has closed the socket", cause: error)
        }
    }

    func room() async throws(BLEError) {
        do throws(DBusError) {
            try await socket.room()
        } catch {
            throw error.kind == .cancelled
                ? .cancelled : BLEError(.disconnected, "bluetoothd has closed the socket", cause: error)
        }
    }

    func close() {
        let socket = socket
        loop.perform { socket.close() }
    }
}
