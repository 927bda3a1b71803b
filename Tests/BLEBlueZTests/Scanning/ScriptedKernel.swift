import BLE
import Loop
import Synchronization

@testable import BLEBlueZ

/// A kernel whose management sockets receive what a test sends.
final class ScriptedKernel: Sendable {
    private struct State {
        var ends: [PacketSocket] = []
        var commands: [[UInt8]] = []
    }

    private let loop = EventLoop(name: "kernel")
    private let state = Mutex(State())
    private let answers: Bool

    /// - Parameter answers: whether it starts each discovery at once.
    init(answers: Bool = true) { self.answers = answers }

    var socket: ManagementSocket {
        ManagementSocket {
            guard let pair = try? PacketSocket.pair() else { return .failure(BLEError(.failed, "no sockets are left")) }
            let socket = PacketSocket(pair.0, on: self.loop)
            self.state.withLock { $0.ends.append(socket) }
            self.loop.perform {
                socket.open { [weak self] packet in
                    self?.receive(packet)
                    return true
                } onEnd: {
                }
            }
            return .success(pair.1)
        }
    }

    private func receive(_ command: [UInt8]) {
        state.withLock { $0.commands.append(command) }
        if answers, command.first == 0x3A { answer(0) }
    }

    /// The number of sockets that were opened.
    var socketCount: Int { state.withLock(\.ends.count) }

    /// The commands that were sent, whole.
    var commands: [[UInt8]] { state.withLock(\.commands) }

    /// Answers the start of the discovery: without an error as *Command Complete*, with one as *Command Status*.
    func answer(_ status: UInt8, adapter: UInt8 = 0) {
        send(
            status == 0
                ? ManagementPacketTests.packet(0x01, adapter: adapter, [0x3A, 0, 0, 6])
                : ManagementPacketTests.packet(0x02, adapter: adapter, [0x3A, 0, status]))
    }

    /// Sends a packet over the last socket. Returns whether there was room for it.
    @discardableResult func send(_ packet: [UInt8]) -> Bool {
        let socket = state.withLock(\.ends.last)
        return (try? socket?.send(packet)) == true
    }

    /// Ends the last socket.
    func end() {
        let socket = state.withLock(\.ends.last)
        loop.perform { socket?.close() }
    }
}

extension DiscoveryEvents.AsyncIterator {
    /// The next advertisement that is reported.
    mutating func advertisement() async throws -> Advertisement {
        while let event = try await next() {
            if case .found(let found) = event { return found.advertisement }
            if case .updated(let found) = event { return found.advertisement }
        }
        throw BLEError(.failed, "the scan has ended")
    }
}

extension DeviceID {
    /// The octets of an address, as it is written.
    var octets: [UInt8] { rawValue.split(separator: ":").map { UInt8($0, radix: 16) ?? 0 } }
}
