public import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Waiting

extension BlueZCentral {
    /// Calls `AcquireNotify`. Notifications that arrive before bluetoothd has made the socket are lost; later ones wait
    /// in the socket.
    public func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        let path = try path(characteristic)
        let (socket, _) = try await acquire(.notifyAcquired, path, characteristic.peripheral)
        // The link may have ended before the answer arrived, and a backend that has shut down no longer closes sockets.
        guard !isShutDown, attributes[characteristic]?.path == path else {
            throw BLEError(.disconnected, "the link ended")
        }
        sockets.open(NotificationSocket(socket: socket, path: path), characteristic)
        socket.open(onPacket: deliver) { [weak self, weak socket] in
            self?.assumeIsolated { central in
                guard let socket, central.sockets.socket(of: characteristic)?.socket === socket else { return }
                _ = central.sockets.remove(characteristic)
                Task { await central.socketEnded(characteristic, path) }
            }
        }
    }

    /// Resumes delivery when the reader has room again.
    public func resumeNotifications(of characteristic: AttributeID) {
        sockets.socket(of: characteristic)?.socket.resume()
    }

    /// Calls `AcquireWrite`.
    public func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketSink {
        let path = try path(characteristic)
        let (socket, packetLength) = try await acquire(.writeAcquired, path, characteristic.peripheral)
        let channel = WritingSocket(socket, loop: stack.loop, packetLength: packetLength)
        channel.open()
        return channel
    }

    private func acquire(
        _ use: AttributeUse, _ path: String, _ peripheral: Peripheral.ID
    ) async throws(BLEError) -> (PacketSocket, Int) {
        let acquisition = Acquisition(path: path, use: use)
        sockets.acquire(acquisition, peripheral)
        do throws(BLEError) {
            return try await acquire(use == .notifyAcquired ? "AcquireNotify" : "AcquireWrite", path)
        } catch {
            // bluetoothd may have made the socket although the caller no longer waits for it.
            if error.code != .timedOut, error.code != .cancelled { sockets.acquisitionEnded(acquisition, peripheral) }
            throw error
        }
    }

    private func acquire(_ method: String, _ path: String) async throws(BLEError) -> (PacketSocket, Int) {
        let call = MethodCall.attribute(path, BlueZ.gattCharacteristic, method, .options())
        let reply = try await persisting(at: path, within: .milliseconds(500)) { () throws(BLEError) in
            try await self.attempt(acquiring: call)
        }
        guard let index = reply.values.first?.integer, reply.descriptors.indices.contains(index),
            let packetLength = reply.values.last?.integer, reply.values.count == 2,
            Self.packetLengths ~= packetLength
        else {
            throw BLEError(.failed, "bluetoothd answered without a socket")
        }
        return (PacketSocket(reply.descriptors[index], on: stack.loop), packetLength)
    }

    /// Calls a method whose answer has a socket. Like other operations on attributes, it may start a pairing, and fails
    /// if this program refuses that.
    private func attempt(acquiring call: MethodCall) async throws(BLEError) -> MethodReply {
        let outcome = Outcome<MethodReply>()
        let number = calls.next()
        calls.add(number, on: call.object ?? call.path) { outcome.deliver($0.map { _ in MethodReply() }) }
        let task = Task {
            do throws(BLEError) {
                let reply = try await stack.call(call, during: .attribute, timeout: Self.attributeTimeout)
                outcome.deliver(.success(reply))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        defer {
            task.cancel()
            _ = calls.remove(number)
        }
        return try await outcome.wait()
    }

    /// Handles a socket that bluetoothd has closed: the link has ended, or another client has stopped the
    /// notifications.
    private func socketEnded(_ characteristic: AttributeID, _ path: String) async {
        guard let device = ObjectTree.device(ofAttribute: path) else { return }
        // At the end of a link, the socket is closed before bluetoothd signals it. The property `MTU` is gone by then.
        if (try? await attMTU(characteristic.peripheral)) == nil {
            try? await waits.wait(forObject: device, within: .seconds(2), clock: configuredClock) {
                () throws(BLEError) in
                self.isConnected(device) ? nil : ()
            }
        }
        guard isConnected(device), sockets.socket(of: characteristic) == nil else { return }
        logger.debug("a notification socket was closed by bluetoothd", metadata: ["path": "\(path)"])
        report(
            .notificationsEnded(
                characteristic, BLEError(.busy, "another program has stopped the notifications", isRetryable: true)))
    }

    /// Closes the sockets of a peripheral. Values that have arrived are delivered, even without room.
    func endSockets(of peripheral: Peripheral.ID) {
        for entry in sockets.removeAll(of: peripheral) {
            entry.socket.drain()
            entry.socket.close()
        }
    }

    func endSockets() {
        for peripheral in sockets.peripherals { endSockets(of: peripheral) }
    }
}

/// A writer's channel over a socket.
private final class WritingSocket: PacketSink {
    let maximumLength: Int
    private let socket: PacketSocket
    private let loop: EventLoop

    init(_ socket: PacketSocket, loop: EventLoop, packetLength: Int) {
        self.socket = socket
        self.loop = loop
        // No attribute value is longer than 512 bytes.
        maximumLength = min(packetLength - 3, 512)
    }

    deinit { close() }

    /// Watches for the end of the socket, so that callers waiting for room are notified.
    func open() {
        loop.checkIsolated()
        socket.open(onPacket: nil) {}
    }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        do throws(LoopError) {
            return try socket.send(packet)
        } catch {
            throw .ended("bluetoothd has closed the socket", error)
        }
    }

    func waitForRoom() async throws(BLEError) {
        do throws(LoopError) {
            try await socket.room()
        } catch {
            throw .ended("bluetoothd has closed the socket", error)
        }
    }

    func close() {
        let socket = socket
        loop.perform { socket.close() }
    }
}
