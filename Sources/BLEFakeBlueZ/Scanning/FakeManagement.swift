package import BLE
package import BLEBlueZ
import BLESimulation
import Loop
import Synchronization

/// The kernel's management sockets, which programs open without bluetoothd: here, over the radio.
final class FakeManagement: Sendable {
    private struct State {
        var sockets: [Int: PacketSocket] = [:]
        var last = 0
        /// Carries out the last command, after those before it.
        var work: Task<Void, Never>?
        var isForbidden = false
    }

    private let state = Mutex(State())
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    /// Forbids advertisements to programs from now on, as to those without the capability.
    func forbid() { state.withLock { $0.isForbidden = true } }

    /// Ends all sockets.
    func end() {
        let sockets = state.withLock { state in
            defer { state.sockets = [:] }
            return Array(state.sockets.values)
        }
        loop.perform { for socket in sockets { socket.close() } }
    }

    /// The number of open sockets.
    var count: Int { state.withLock { $0.sockets.count } }

    /// - Parameter daemon: the first adapter, which knows the others.
    func open(_ daemon: FakeFirst) -> Result<FileDescriptor, BLEError> {
        let pair: (FileDescriptor, FileDescriptor)
        do throws(LoopError) {
            pair = try PacketSocket.pair()
        } catch {
            return .failure(BLEError(.failed, "the socket could not be opened: \(error)"))
        }
        let socket = PacketSocket(pair.0, on: loop)
        let number = state.withLock { state in
            state.last += 1
            state.sockets[state.last] = socket
            return state.last
        }
        loop.perform {
            socket.open { [weak self, weak socket] packet in
                if let self, let socket { self.answer(packet, on: socket, daemon) }
                return true
            } onEnd: { [weak self] in
                self?.state.withLock { $0.sockets[number] = nil }
            }
        }
        return .success(pair.1)
    }

    /// Answers a command, as the kernel does (`hci_mgmt_cmd` in its `net/bluetooth/hci_sock.c`): one that it does not
    /// know, one that is not permitted, and one for an adapter that does not exist, are refused.
    private func answer(_ packet: [UInt8], on socket: PacketSocket, _ daemon: FakeFirst) {
        guard packet.count >= 6, Int(packet[4]) | Int(packet[5]) << 8 == packet.count - 6 else { return }
        let command = Int(packet[0]) | Int(packet[1]) << 8
        let adapter = "hci\(Int(packet[2]) | Int(packet[3]) << 8)"
        let parameters = Array(packet.dropFirst(6))
        let isForbidden = state.withLock { $0.isForbidden }
        state.withLock { state in
            state.work = Task { [before = state.work] in
                await before?.value
                let status: UInt8 =
                    if ![0x23, 0x24, 0x3A].contains(command) { 0x01 } else if isForbidden { 0x14 } else {
                        await daemon.daemonOrNil?.discover(command, parameters, on: adapter) ?? 0x11
                    }
                let isStatus = [0x01, 0x11, 0x14].contains(status)
                let results = isStatus ? [] : Array(parameters.prefix(1))
                let header = [isStatus ? 0x02 : 0x01, 0x00, packet[2], packet[3], UInt8(3 + results.count), 0]
                _ = try? socket.send(header + [packet[0], packet[1], status] + results)
            }
        }
    }

    /// Tells all programs that a discovery has begun or ended.
    func tell(isDiscovering: Bool, adapter: String) {
        guard let number = UInt8(adapter.dropFirst(3)) else { return }
        send([0x13, 0x00, number, 0, 2, 0, 0x06, isDiscovering ? 1 : 0])
    }

    /// Tells all programs of a link that was made.
    func tellConnected(_ id: DeviceID, adapter: String) {
        guard let number = UInt8(adapter.dropFirst(3)), let address = id.address else { return }
        send([0x0B, 0x00, number, 0, 13, 0] + Self.octets(address) + [2, 0, 0, 0, 0, 0, 0])
    }

    private static func octets(_ address: UInt64) -> [UInt8] {
        (0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * UInt64($0))) }
    }

    /// Sends a packet to all programs that may receive it. A program that does not read loses it.
    private func send(_ packet: [UInt8]) {
        let sockets = state.withLock { $0.isForbidden ? [] : Array($0.sockets.values) }
        for socket in sockets { _ = try? socket.send(packet) }
    }

    /// Sends what an adapter has received.
    func send(_ advertisement: Advertisement, from id: DeviceID, adapter: String) {
        guard count > 0, let address = id.address, let number = UInt8(adapter.dropFirst(3)),
            let data = try? advertisement.data().encode(limit: .chained)
        else { return }
        var packet: [UInt8] = [0x12, 0x00, number, 0]
        let length = 14 + data.count
        packet += [UInt8(length & 0xFF), UInt8(length >> 8)]
        packet += Self.octets(address)
        packet += [advertisement.addressType == .public ? 1 : 2, UInt8(bitPattern: Int8(advertisement.rssi ?? 127))]
        packet += [0, 0, 0, 0, UInt8(data.count & 0xFF), UInt8(data.count >> 8)]
        send(packet + data)
    }
}

extension FakeBlueZ {
    /// Opens the kernel's management socket.
    package nonisolated var managementSocket: ManagementSocket {
        ManagementSocket { [kernelManagement, daemon = FakeFirst(first.or(self))] in kernelManagement.open(daemon) }
    }

    /// The number of open management sockets.
    package nonisolated var managementSocketCount: Int { kernelManagement.count }

    /// Forbids advertisements from the management socket to all programs.
    package nonisolated func forbidManagement() { kernelManagement.forbid() }

    /// Ends all management sockets.
    package nonisolated func endManagement() { kernelManagement.end() }

    /// The signal strength that bluetoothd shows for a device, in dBm. Nil if it shows none.
    package func shownStrength(of id: DeviceID) -> Int? { devices[id]?.advertisement.rssi }

    // MARK: The kernel's discovery

    /// How long the kernel's discovery of LE takes.
    private static let discoveryTime = Duration.milliseconds(10_240)

    /// Whether an adapter scans for a program that has asked the kernel, and not the daemon.
    package var isKernelDiscovering: Bool { kernelDiscovery != nil }

    /// Carries out *Start Discovery*, *Start Service Discovery* or *Stop Discovery*. Returns the status, or nil without
    /// the adapter.
    fileprivate func discover(_ command: Int, _ parameters: [UInt8], on adapter: String) async -> UInt8? {
        guard adapter == name else {
            guard let other = others[adapter] else { return nil }
            return await other.discover(command, parameters, on: adapter)
        }
        guard isPresent else { return nil }
        guard isPowered else { return 0x0F }
        // LE is the only type that this package asks for.
        guard parameters.first == 0x06 else { return 0x0D }
        if command == 0x24 {
            // It does not ask whose it is.
            if isDiscovering { foreignStops += 1 }
            guard isKernelDiscovering || isDiscovering else { return 0x0B }
            await endKernelDiscovery()
            return 0
        }
        guard !isKernelDiscovering, !isDiscovering else { return 0x0A }
        kernelDiscoveries += 1
        kernelDiscovery = kernelDiscoveries
        do throws(BLEError) {
            try await startScan()
        } catch {
            kernelDiscovery = nil
            return 0x03
        }
        kernelManagement.tell(isDiscovering: true, adapter: name)
        Task { [kernelDiscoveries, clock = radio.clock] in
            guard (try? await clock.sleep(for: Self.discoveryTime)) != nil else { return }
            if kernelDiscovery == kernelDiscoveries { await endKernelDiscovery() }
        }
        return 0
    }

    /// Ends the discovery of a program that has asked the kernel, as the kernel does after its time, and for a link.
    package func endKernelDiscovery() async {
        guard isKernelDiscovering else { return }
        kernelDiscovery = nil
        kernelManagement.tell(isDiscovering: false, adapter: name)
        await endUnusedScan()
    }
}
