import BLE
import Loop
import Synchronization

@testable import BLEBlueZ

/// A kernel whose management sockets receive what a test sends.
final class ScriptedKernel: Sendable {
    private let loop = EventLoop(name: "kernel")
    private let ends = Mutex<[PacketSocket]>([])
    private let answers: Bool

    /// - Parameter answers: whether it shows at once that it sends advertisements.
    init(answers: Bool = true) { self.answers = answers }

    var socket: ManagementSocket {
        ManagementSocket {
            guard let pair = try? PacketSocket.pair() else { return .failure(BLEError(.failed, "no sockets are left")) }
            let socket = PacketSocket(pair.0, on: self.loop)
            self.ends.withLock { $0.append(socket) }
            if self.answers { self.answer(0x11) }
            return .success(pair.1)
        }
    }

    /// The number of sockets that were opened.
    var socketCount: Int { ends.withLock(\.count) }

    /// Refuses the command that asks for the permission, which has no adapter.
    func answer(_ status: UInt8) { send(ManagementPacketTests.packet(0x02, [0x15, 0, status])) }

    /// Sends a packet over the last socket. Returns whether there was room for it.
    @discardableResult func send(_ packet: [UInt8]) -> Bool {
        let socket = ends.withLock(\.last)
        return (try? socket?.send(packet)) == true
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
