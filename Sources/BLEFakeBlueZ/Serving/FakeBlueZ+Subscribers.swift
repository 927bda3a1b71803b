import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Loop

/// The sockets of a client's subscribers, by the rules of the daemon's `src/gatt-database.c` from 5.80 on.
extension FakeBlueZ {
    /// Asks the client for a socket, if the client supports that. Returns whether the central has one.
    func acquired(_ attribute: ServedAttribute, _ central: Peripheral.ID, _ attMTU: Int?) async -> Bool {
        guard serving?.applications[attribute.application]?.acquiring.contains(attribute) == true, minorVersion >= 80,
            let descriptor = try? await acquire(attribute, central, attMTU)
        else { return false }
        let socket = open(descriptor) { [weak self] packet in
            self?.valueArrived(.packet(packet, attribute, central))
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
        try? await serving?.backend.notify(packet, from: attribute, to: central)
        guard let application = serving?.applications[attribute.application],
            application.indicating.contains(attribute)
        else { return }
        _ = try? application.sockets[attribute]?[central]?.send([1])
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

    /// An application is no longer served.
    func closeSockets(of application: FakeServing.Application) {
        for socket in application.sockets.values.flatMap(\.values) { close(socket) }
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
