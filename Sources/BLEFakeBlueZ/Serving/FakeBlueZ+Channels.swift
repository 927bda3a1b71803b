package import BLE
package import BLEBlueZ
import BLESimulation
import DBus
package import Loop
import Synchronization

/// The sockets of L2CAP channels, which the kernel makes without bluetoothd: here, over the radio's channels.
package struct FakeChannelSockets: ChannelSockets {
    let daemon: FakeBlueZ

    package func connect(
        from own: ChannelAddress, to peer: ChannelAddress, _ psm: PSM, _ options: ChannelOptions,
        on loop: EventLoop, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ChannelSocket {
        try await daemon.adapter(at: own).openChannel(psm, options, to: Peripheral.ID(rawValue: peer.address))
    }

    package func listen(
        at own: ChannelAddress, _ psm: PSM?, _ options: ChannelOptions, on loop: EventLoop,
        accept: @escaping @Sendable (ChannelSocket, String, PSM) -> Void,
        onFailure: @escaping @Sendable (BLEError, PSM) -> Void, isolation: isolated (any Actor)?
    ) async throws(BLEError) -> ListeningChannel {
        await daemon.waitWhileHanging("listen")
        let number = await daemon.nextListener()
        // The kernel frees a number at once when its socket is closed.
        guard psm.map({ daemon.bind(own, $0, to: number) }) ?? true else {
            throw BLEError(.busy, "another socket has the number at this address", isRetryable: true)
        }
        let adapter = await daemon.adapter(at: own)
        let chosen: PSM
        do throws(BLEError) {
            chosen = try await adapter.listen(psm, options, as: number) { socket, central, psm in
                loop.perform { accept(socket, central, psm) }
            }
        } catch {
            if let psm { daemon.unbind(own, psm, from: number) }
            throw error
        }
        if psm == nil { _ = daemon.bind(own, chosen, to: number) }
        return ListeningChannel(psm: chosen) { [daemon, adapter] in
            daemon.unbind(own, chosen, from: number)
            Task { await adapter.removeListener(number) }
        }
    }
}

/// A number at which a client accepts channels.
struct FakeListener {
    var psm: PSM?
    let options: ChannelOptions
    let accept: @Sendable (ChannelSocket, String, PSM) -> Void
}

extension FakeBlueZ {
    package nonisolated var channelSockets: FakeChannelSockets { FakeChannelSockets(daemon: self) }

    /// The adapter with an address.
    fileprivate func adapter(at own: ChannelAddress) -> FakeBlueZ {
        others.values.first { ChannelAddress($0.adapterAddress, isRandom: false) == own } ?? self
    }

    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to peripheral: Peripheral.ID
    ) async throws(BLEError) -> ChannelSocket {
        try bridge(try await backend.openChannel(psm, options, to: peripheral), peripheral, psm)
    }

    func listen(
        _ psm: PSM?, _ options: ChannelOptions, as number: Int,
        _ accept: @escaping @Sendable (ChannelSocket, String, PSM) -> Void
    ) async throws(BLEError) -> PSM {
        var listener = FakeListener(psm: psm, options: options, accept: accept)
        if let psm, !isPresent {
            // For another adapter, which has no radio.
            listeners[number] = listener
            return psm
        }
        let backend = try await startedServing().backend
        let chosen = try await publish(listener, number, on: backend)
        listener.psm = chosen
        listeners[number] = listener
        return chosen
    }

    fileprivate func nextListener() -> Int {
        lastListener += 1
        return lastListener
    }

    /// Returns whether the number was free.
    fileprivate nonisolated func bind(_ own: ChannelAddress, _ psm: PSM, to listener: Int) -> Bool {
        bound.withLock { bound in
            guard bound[own]?[psm] == nil else { return false }
            bound[own, default: [:]][psm] = listener
            return true
        }
    }

    /// Frees a number, unless another listener has it.
    fileprivate nonisolated func unbind(_ own: ChannelAddress, _ psm: PSM, from listener: Int) {
        bound.withLock { if $0[own]?[psm] == listener { $0[own]?[psm] = nil } }
    }

    /// The numbers at which clients accept channels, at the address of an adapter.
    package nonisolated func channelNumbers(at address: String) -> Set<PSM> {
        bound.withLock { Set($0[ChannelAddress(address, isRandom: false)]?.keys.map(\.self) ?? []) }
    }

    fileprivate func removeListener(_ number: Int) async {
        guard listeners.removeValue(forKey: number) != nil else { return }
        await serving?.backend.unpublishChannel(number)
    }

    /// The kernel's sockets outlive bluetoothd.
    func publishListeners(on backend: SimulatedPeripheralBackend) async throws(BLEError) {
        for (number, listener) in listeners { _ = try await publish(listener, number, on: backend) }
    }

    private func publish(
        _ listener: FakeListener, _ number: Int, on backend: SimulatedPeripheralBackend
    ) async throws(BLEError) -> PSM {
        try await backend.publishChannel(listener.psm, listener.options, as: number) {
            [weak self] transport, central, psm in
            self?.assumeIsolated { daemon in
                guard let socket = try? daemon.bridge(transport, central, psm) else { return }
                listener.accept(socket, central.rawValue, psm)
            }
        } onEnd: { _ in
        }
    }

    /// Returns the client's end of a socket whose other end forwards to a channel of the radio.
    private func bridge(
        _ transport: any ChannelTransport, _ peer: Peripheral.ID, _ psm: PSM
    ) throws(BLEError) -> ChannelSocket {
        guard let (ours, theirs) = try? PacketSocket.pair() else { throw BLEError(.failed, "no socket") }
        let loop = loop
        let channel = L2CAPChannel(transport, peer: peer, psm: psm, clock: ContinuousClock(), timeout: .seconds(3600))
        channel.start()
        let socket = PacketSocket(ours, on: loop, maximumLength: 65535)
        let (packets, producer) = BoundedStream.make(of: [UInt8].self, policy: .fail(capacity: 16)) {
        } onRoom: {
            loop.perform { socket.resume() }
        }
        loop.perform { socket.open(onPacket: { producer.offer($0) }, onEnd: { producer.finish() }) }
        Task {
            do {
                for try await packet in packets { try await channel.send(packet) }
            } catch {}
            channel.close()
        }
        Task {
            do {
                for try await packet in channel.packets { while try !socket.send(packet) { try await socket.room() } }
            } catch {}
            // Closing the socket here ends only the socket, so the channel is closed as well.
            channel.close()
            producer.finish()
            loop.perform { socket.close() }
        }
        return ChannelSocket(
            theirs, sendLength: channel.maximumLength, receiveLength: channel.maximumReceiveLength)
    }
}
