package import BLE
package import BLEBlueZ
import Loop
import Synchronization

/// The kernel's management sockets, which programs open without bluetoothd: here, over the radio's advertisements.
final class FakeManagement: Sendable {
    private struct State {
        var sockets: [Int: PacketSocket] = [:]
        var last = 0
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

    func open() -> Result<FileDescriptor, BLEError> {
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
                if let self, let socket { self.answer(packet, on: socket) }
                return true
            } onEnd: { [weak self] in
                self?.state.withLock { $0.sockets[number] = nil }
            }
        }
        return .success(pair.1)
    }

    /// Refuses a command, as the kernel does (`hci_mgmt_cmd` in its `net/bluetooth/hci_sock.c`): one that it does not
    /// know, one that is not permitted, and one for an adapter that does not exist.
    private func answer(_ packet: [UInt8], on socket: PacketSocket) {
        guard packet.count >= 6, Int(packet[4]) | Int(packet[5]) << 8 == packet.count - 6 else { return }
        let isGetConnections = packet[0] == 0x15 && packet[1] == 0
        let status: UInt8 = !isGetConnections ? 0x01 : state.withLock { $0.isForbidden } ? 0x14 : 0x11
        _ = try? socket.send([0x02, 0x00, packet[2], packet[3], 3, 0, packet[0], packet[1], status])
    }

    /// Sends what an adapter has received to all programs that may receive it. A program that does not read loses it.
    func send(_ advertisement: Advertisement, from id: DeviceID, adapter: String) {
        let sockets = state.withLock { $0.isForbidden ? [] : Array($0.sockets.values) }
        guard !sockets.isEmpty, let address = id.address, let number = UInt8(adapter.dropFirst(3)),
            let data = try? advertisement.data().encode(limit: .chained)
        else { return }
        var packet: [UInt8] = [0x12, 0x00, number, 0]
        let length = 14 + data.count
        packet += [UInt8(length & 0xFF), UInt8(length >> 8)]
        packet += (0..<6).map { UInt8(truncatingIfNeeded: address >> (8 * UInt64($0))) }
        packet += [advertisement.addressType == .public ? 1 : 2, UInt8(bitPattern: Int8(advertisement.rssi ?? 127))]
        packet += [0, 0, 0, 0, UInt8(data.count & 0xFF), UInt8(data.count >> 8)]
        for socket in sockets { _ = try? socket.send(packet + data) }
    }
}

extension FakeBlueZ {
    /// Opens the kernel's management socket.
    package nonisolated var managementSocket: ManagementSocket {
        ManagementSocket { [kernelManagement] in kernelManagement.open() }
    }

    /// The number of open management sockets.
    package nonisolated var managementSocketCount: Int { kernelManagement.count }

    /// Forbids advertisements from the management socket to all programs.
    package nonisolated func forbidManagement() { kernelManagement.forbid() }

    /// Ends all management sockets.
    package nonisolated func endManagement() { kernelManagement.end() }

    /// The signal strength that bluetoothd shows for a device, in dBm. Nil if it shows none.
    package func shownStrength(of id: DeviceID) -> Int? { devices[id]?.advertisement.rssi }
}
