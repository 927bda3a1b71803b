internal import CGLib

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// One end of a socket that keeps packets apart (SOCK_SEQPACKET), read and waited for on an event loop.
///
/// Safe to share: sending is one system call, which any thread may make; everything else happens on the loop's thread, which each
/// entry checks.
package final class PacketSocket: @unchecked Sendable {
    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private var source: UnsafeMutablePointer<GSource>?
    /// Takes a packet; false when there is no room for another.
    private var onPacket: (([UInt8]) -> Bool)?
    private var onEnd: (() -> Void)?
    private var isPaused = false
    private var waiters: [OneShot<Void>] = []
    private var isClosed = false
    /// What one packet is read into; no attribute value is longer.
    private let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)

    /// How many packets are read before the loop's other work gets its turn.
    private static let packetsPerTurn = 64

    package init(_ descriptor: FileDescriptor, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
    }

    deinit {
        // The source holds no reference: whoever opens closes.
        assert(source == nil, "dropped while open")
        space.deallocate()
    }

    /// Two ends that are connected, as bluetoothd makes them.
    package static func pair() throws(DBusError) -> (FileDescriptor, FileDescriptor) {
        var descriptors: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &descriptors) == 0 else {
            throw DBusError(.malformed, message: "no socket: \(String(cString: strerror(errno)))")
        }
        return (FileDescriptor(owning: descriptors[0]), FileDescriptor(owning: descriptors[1]))
    }

    // MARK: Opening and closing

    /// Watches the socket from now on.
    ///
    /// - Parameters:
    ///   - onPacket: takes each packet that comes, on the loop's thread; false when there is no room for another, until
    ///     ``resume()``. Nil for an end that only writes.
    ///   - onEnd: the other end is closed and everything that it sent has been read. Called once, on the loop's thread; not when
    ///     this end is closed.
    package func open(onPacket: (([UInt8]) -> Bool)?, onEnd: @escaping () -> Void) {
        loop.checkIsolated()
        self.onPacket = onPacket
        self.onEnd = onEnd
        attach()
    }

    private var condition: GIOCondition {
        // That the other end closes is reported in any case.
        let reading = onPacket == nil ? 0 : G_IO_IN.rawValue
        return GIOCondition(rawValue: reading | (waiters.isEmpty ? 0 : G_IO_OUT.rawValue))
    }

    private func attach() {
        guard source == nil, !isClosed else { return }
        var actions = BLESourceActions()
        actions.context = Unmanaged.passUnretained(self).toOpaque()
        actions.ready = { _ in 0 }
        actions.run = { me, condition in
            Unmanaged<PacketSocket>.fromOpaque(me!).takeUnretainedValue().run(condition)
        }
        source = ble_source_attach(loop.context, descriptor.rawValue, condition, actions)
    }

    private func detach() {
        guard let source else { return }
        g_source_destroy(source)
        g_source_unref(source)
        self.source = nil
    }

    /// Closes this end once nobody sends any more. What has come and was not read is lost; ``drain()`` reads it.
    package func close() {
        loop.checkIsolated()
        guard !isClosed else { return }
        isClosed = true
        detach()
        _ = shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
        onPacket = nil
        onEnd = nil
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.finish(.failure(Self.ended)) }
    }

    private static let ended = DBusError(.disconnected, message: "the socket has ended")

    private func run(_ condition: GIOCondition) {
        withExtendedLifetime(self) {
            if condition.rawValue & ~G_IO_IN.rawValue != 0 { wake() }
            if onPacket != nil {
                if read(atMost: Self.packetsPerTurn) { end() }
            } else if condition.rawValue & (G_IO_HUP.rawValue | G_IO_ERR.rawValue) != 0 {
                end()
            }
            // What the packets have set off follows at once, without another turn of the loop.
            loop.runPending()
        }
    }

    private func end() {
        let onEnd = onEnd
        close()
        onEnd?()
    }

    // MARK: Reading

    /// Reads until nothing is left, there is no room or it is others' turn. True at the end of the socket.
    private func read(atMost limit: Int) -> Bool {
        for _ in 0..<limit {
            guard !isPaused, let onPacket else { return false }
            switch receive() {
            case .packet(let packet):
                guard !onPacket(packet) else { continue }
                // Not watched meanwhile: the end of the socket would be reported again and again.
                isPaused = true
                detach()
            case .nothing: return false
            case .end: return true
            }
        }
        return false
    }

    private enum Reading {
        case packet([UInt8])
        case nothing
        case end
    }

    private func receive() -> Reading {
        while true {
            let count = recv(descriptor.rawValue, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .packet(Array(space[..<count])) }
            if count == 0 { return isHungUp ? .end : .packet([]) }
            if errno == EINTR { continue }
            return errno == EAGAIN || errno == EWOULDBLOCK ? .nothing : .end
        }
    }

    /// Nothing was read: an empty packet, or the end.
    private var isHungUp: Bool {
        var state = pollfd(fd: descriptor.rawValue, events: 0, revents: 0)
        return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP) != 0
    }

    /// There is room again.
    package func resume() {
        loop.checkIsolated()
        guard isPaused else { return }
        isPaused = false
        attach()
    }

    /// Hands over everything that has come, whether or not there is room.
    package func drain() {
        loop.checkIsolated()
        while let onPacket, case .packet(let packet) = receive() { _ = onPacket(packet) }
    }

    // MARK: Writing

    /// Sends a packet; false when there is no room for it now. May be called from any thread.
    ///
    /// Throws `.disconnected` when the socket has ended.
    package func send(_ packet: [UInt8]) throws(DBusError) -> Bool {
        while true {
            let count = packet.withUnsafeBytes {
                systemSend(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            }
            if count >= 0 { return true }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK, ENOBUFS: return false
            default: throw Self.ended
            }
        }
    }

    /// Returns once there is room, or the socket has ended.
    package func room() async throws(DBusError) {
        let waiter = OneShot<Void>()
        loop.perform { self.await(waiter) }
        do throws(DBusError) {
            try await waiter.wait()
        } catch {
            // Whoever has given up waits for no room.
            loop.perform { self.waiters.removeAll { $0 === waiter } }
            throw error
        }
    }

    private func await(_ waiter: OneShot<Void>) {
        guard !isClosed, let source else { return waiter.finish(.failure(Self.ended)) }
        waiters.append(waiter)
        ble_source_set_condition(source, condition)
    }

    private func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.finish(.success(())) }
        if let source, !waiting.isEmpty { ble_source_set_condition(source, condition) }
    }
}

/// The system's `send`, which the method of that name hides.
private func systemSend(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, start, count, flags)
}
