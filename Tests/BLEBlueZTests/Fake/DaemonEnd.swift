import BLE
import BLETestSupport
import DBus
import Loop

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

/// bluetoothd's end of a subscriber's socket.
struct DaemonEnd {
    let socket: PacketSocket
    let loop: EventLoop
    let packets: AsyncStream<[UInt8]>
    /// The number of packets that have arrived.
    let count = SharedValue(0)

    init(_ descriptor: FileDescriptor, _ loop: EventLoop) {
        let socket = PacketSocket(descriptor, on: loop)
        let (packets, arrivals) = AsyncStream.makeStream(of: [UInt8].self)
        (self.socket, self.loop, self.packets) = (socket, loop, packets)
        loop.perform { [count] in
            socket.open { packet in
                count.change { $0 += 1 }
                arrivals.yield(packet)
                return true
            } onEnd: {
                arrivals.finish()
            }
        }
    }

    func close() { loop.perform { socket.close() } }
}

extension BlueZWorld {
    /// A central that only the daemon knows connects, and subscribes to the first characteristic with sockets.
    func subscribe(_ central: DeviceID) async throws -> DaemonEnd {
        await daemon.pretend(central, isConnected: true)
        return DaemonEnd(try await daemon.pretendToSubscribe(central), daemon.loop)
    }
}
