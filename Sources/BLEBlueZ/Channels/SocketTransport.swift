internal import BLE
internal import DBus

/// An L2CAP channel over a socket.
final class SocketTransport: ChannelTransport {
    let maximumLength: Int
    let maximumReceiveLength: Int
    private let socket: PacketSocket
    private let loop: EventLoop
    /// Returns why the channel has ended: nil if the other side has closed it, while the link is up.
    private let reason: @Sendable () async -> BLEError?

    init(
        _ socket: ChannelSocket, loop: EventLoop, reason: @escaping @Sendable () async -> BLEError?
    ) {
        maximumLength = socket.sendLength
        maximumReceiveLength = socket.receiveLength
        self.loop = loop
        self.reason = reason
        self.socket = PacketSocket(socket.descriptor, on: loop, maximumLength: socket.receiveLength)
    }

    deinit { close() }

    func start(deliver: @escaping @Sendable ([UInt8]) -> Bool, onEnd: @escaping @Sendable (BLEError?) -> Void) {
        loop.checkIsolated()
        socket.open(onPacket: deliver) { [reason, loop] in
            Task {
                let error = await reason()
                loop.perform { onEnd(error) }
            }
        }
    }

    func drain() { socket.drain() }

    func resume() {
        let socket = socket
        loop.perform { socket.resume() }
    }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        do throws(DBusError) {
            return try socket.send(packet)
        } catch {
            throw BLEError(.disconnected, "the channel has ended", cause: error)
        }
    }

    func waitForRoom() async throws(BLEError) {
        do throws(DBusError) {
            try await socket.room()
        } catch {
            throw error.kind == .cancelled
                ? .cancelled : BLEError(.disconnected, "the channel has ended", cause: error)
        }
    }

    func close() {
        let socket = socket
        loop.perform { socket.close() }
    }
}
