internal import BLE
internal import Loop
internal import Synchronization
internal import Waiting

/// An L2CAP channel over a socket.
final class SocketChannelTransport: ChannelTransport {
    let maximumLength: Int
    let maximumReceiveLength: Int
    private let socket: PacketSocket
    private let loop: EventLoop
    /// The number of attempts to send since the last that found room.
    private let refusals = Atomic<Int>(0)
    /// Returns the reason for the end of the channel; nil if it was closed while the link is up.
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
        let limit = maximumReceiveLength
        socket.open(onPacket: deliver) { [reason, loop, socket] in
            let isClosedThere = socket.wasShutDownThere
            Task {
                let error = await reason() ?? (isClosedThere ? nil : Self.violation(limit))
                loop.perform { onEnd(error) }
            }
        }
    }

    /// The error of a channel that the kernel has closed while the link is up.
    private static func violation(_ limit: Int) -> BLEError {
        BLEError(
            .disconnected, "the system has closed the channel because the other side violated the protocol",
            isRetryable: false,
            remedy:
                "Correct the other side: it sent more than it had credits for, or a packet of more than \(limit) bytes."
        )
    }

    func drain() { socket.drain() }

    func resume() {
        let socket = socket
        loop.perform { socket.resume() }
    }

    func send(_ packet: [UInt8]) throws(BLEError) -> Bool {
        do throws(LoopError) {
            guard socket.hasRoom, try socket.send(packet) else {
                refusals.add(1, ordering: .relaxed)
                return false
            }
            refusals.store(0, ordering: .relaxed)
            return true
        } catch {
            throw .ended("the channel has ended", error)
        }
    }

    func waitForRoom() async throws(BLEError) {
        // The kernel may report room although there is too little for a long packet.
        if refusals.load(ordering: .relaxed) > 1 { try await pause() }
        do throws(LoopError) {
            try await socket.room()
        } catch {
            throw .ended("the channel has ended", error)
        }
    }

    private func pause() async throws(BLEError) {
        let outcome = Outcome<Void>()
        let timer = loop.schedule(after: .milliseconds(5)) { outcome.deliver(.success(())) }
        defer { timer.cancel() }
        try await outcome.wait()
    }

    func hasUnsentPackets() throws(BLEError) -> Bool {
        do throws(LoopError) {
            return try socket.hasUnsentPackets()
        } catch {
            throw .ended("the channel has ended", error)
        }
    }

    func close() {
        let socket = socket
        loop.perform { socket.close() }
    }
}
