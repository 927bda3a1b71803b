internal import CLoop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One end of a socket that preserves packet boundaries (SOCK_SEQPACKET), read and awaited on an event loop: a socket
/// of bluetoothd, or an L2CAP channel of the kernel.
///
/// Safe to share: sending is one system call, which any thread may make. Everything else happens on the loop's thread,
/// which each entry point checks.
package final class PacketSocket: @unchecked Sendable {
    private let descriptor: FileDescriptor
    private let loop: EventLoop
    /// Retains the socket until it is closed.
    private var watch: DescriptorWatch?
    /// Receives a packet. Returns false if there is no room for another.
    private var onPacket: (([UInt8]) -> Bool)?
    private var onEnd: (() -> Void)?
    private var isPaused = false
    private var waiters: [LoopOutcome<Void>] = []
    private var isOpen = false
    private var isClosed = false
    /// The buffer for one packet.
    private let space: UnsafeMutableRawBufferPointer

    /// The maximum number of packets to read before the loop does its other work.
    private static let packetsPerTurn = 64

    /// - Parameter maximumLength: the maximum length of a received packet, in bytes. No attribute value is longer than
    ///   512.
    package init(_ descriptor: FileDescriptor, on loop: EventLoop, maximumLength: Int = 4096) {
        self.descriptor = descriptor
        self.loop = loop
        space = .allocate(byteCount: maximumLength, alignment: 1)
    }

    deinit { space.deallocate() }

    /// Creates two connected ends, like those that bluetoothd makes.
    package static func pair() throws(LoopError) -> (FileDescriptor, FileDescriptor) {
        var descriptors: [Int32] = [-1, -1]
        guard ble_socket_pair(BLE_PACKETS, &descriptors) == 0 else { throw .system(errno) }
        return (FileDescriptor(owning: descriptors[0]), FileDescriptor(owning: descriptors[1]))
    }

    // MARK: Opening and closing

    /// Starts to watch the socket.
    ///
    /// - Parameters:
    ///   - onPacket: receives each packet, on the loop's thread. Returns false if there is no room for another, until
    ///     ``resume()``. Nil for an end that only writes.
    ///   - onEnd: called once, on the loop's thread, when the other end is closed and everything that it sent has been
    ///     read. Not called if this end is closed.
    package func open(onPacket: (([UInt8]) -> Bool)?, onEnd: @escaping () -> Void) {
        loop.checkIsolated()
        guard !isClosed else { return }
        self.onPacket = onPacket
        self.onEnd = onEnd
        isOpen = true
        watch = DescriptorWatch(descriptor, on: loop, for: readiness) { _, ready in self.run(ready) }
    }

    /// What is awaited now. The end would be reported again and again while reading is paused, so the socket is then
    /// watched only if a sender waits for room.
    private var readiness: DescriptorWatch.Readiness? {
        if isPaused, waiters.isEmpty { return nil }
        let reading: DescriptorWatch.Readiness = onPacket == nil || isPaused ? [] : .reading
        return waiters.isEmpty ? reading : reading.union(.writing)
    }

    private func updateWatch() { watch?.readiness = readiness }

    /// Shuts down the socket, whose descriptor is closed with its last reference. Unread packets are lost; ``drain()``
    /// reads them.
    package func close() {
        loop.checkIsolated()
        guard !isClosed else { return }
        isClosed = true
        watch?.cancel()
        watch = nil
        _ = shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
        onPacket = nil
        onEnd = nil
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.deliver(.failure(.ended)) }
    }

    private func run(_ ready: DescriptorWatch.Readiness) {
        if ready != .reading { wake() }
        if isPaused {
            // The end is read when there is room again.
        } else if onPacket != nil {
            if read(atMost: Self.packetsPerTurn) { end() }
        } else if !ready.isDisjoint(with: .end) {
            end()
        }
    }

    /// Whether the other end has closed the socket, once it has ended. The kernel can also end an L2CAP channel, for a
    /// violation of the protocol or with the link: then nothing shows that no more packets will arrive.
    package private(set) var wasShutDownThere = false

    private func end() {
        wasShutDownThere = state(of: Self.shutDownThere) & Self.shutDownThere != 0
        let onEnd = onEnd
        close()
        onEnd?()
    }

    // MARK: Reading

    /// Reads until nothing is left, there is no room, or the limit is reached. Returns true at the end of the socket.
    private func read(atMost limit: Int) -> Bool {
        for _ in 0..<limit {
            guard !isPaused, let onPacket else { return false }
            switch receive() {
            case .packet(let packet):
                guard !onPacket(packet) else { continue }
                isPaused = true
                updateWatch()
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
        var isLast = false
        while true {
            let count = recv(descriptor.rawValue, space.baseAddress, space.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .packet(Array(space[..<count])) }
            if count == 0 {
                guard isHungUp else { return .packet([]) }
            } else {
                switch errno {
                case EINTR: continue
                case EAGAIN, EWOULDBLOCK: guard isHungUp else { return .nothing }
                default: break
                }
            }
            // The end of a channel is reported once, as an error or as zero bytes, before the packets that have
            // arrived, and a packet may have arrived just before the end.
            if isLast { return .end }
            isLast = true
        }
    }

    /// Whether the other end is closed, so that a read of zero bytes means the end of the socket, and not an empty
    /// packet.
    package var isHungUp: Bool { state(of: 0) & Int16(POLLHUP) != 0 }

    /// POLLRDHUP, which Linux has in addition to the events of POSIX.
    private static let shutDownThere: Int16 = 0x2000

    /// Returns which of the events, and of errors and hang-ups, are present.
    private func state(of events: Int16) -> Int16 {
        var state = pollfd(fd: descriptor.rawValue, events: events, revents: 0)
        return poll(&state, 1, 0) > 0 ? state.revents & (events | Int16(POLLHUP) | Int16(POLLERR)) : 0
    }

    /// Resumes reading when there is room again.
    package func resume() {
        loop.checkIsolated()
        guard isPaused else { return }
        isPaused = false
        updateWatch()
    }

    /// Delivers what has arrived, even without room, up to a number of packets. Returns whether that was everything.
    @discardableResult package func drain(atMost limit: Int = .max) -> Bool {
        loop.checkIsolated()
        for _ in 0..<limit {
            guard let onPacket, case .packet(let packet) = receive() else { return true }
            _ = onPacket(packet)
        }
        return false
    }

    // MARK: Writing

    /// Whether the other end has read everything that was sent, or is closed.
    package var isDrained: Bool { ble_socket_unread(descriptor.rawValue) <= 0 }

    /// Returns whether packets that were sent still wait in the socket's buffer.
    ///
    /// Throws `.ended` if the socket has ended: packets that were waiting are lost. May be called from any
    /// thread.
    package func hasUnsentPackets() throws(LoopError) -> Bool {
        var (room, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        getsockopt(descriptor.rawValue, SOL_SOCKET, SO_SNDBUF, &room, &size)
        let count = ble_socket_unread(descriptor.rawValue)
        // If the socket has ended in between, the count does not mean anything.
        guard state(of: Self.shutDownThere) == 0 else { throw .ended }
        // A Bluetooth socket reports the free space (the kernel's net/bluetooth/af_bluetooth.c).
        return ble_socket_family(descriptor.rawValue) == AF_UNIX ? count > 0 : count >= 0 && count < room
    }

    /// Whether there is room for a packet. Linux before 5.18 waits for the credits of a channel even in a nonblocking
    /// call.
    package var hasRoom: Bool {
        var state = pollfd(fd: descriptor.rawValue, events: Int16(POLLOUT), revents: 0)
        return poll(&state, 1, 0) > 0
    }

    /// Sends a packet. Returns false if there is no room for it now. May be called from any thread.
    ///
    /// Throws `.ended` if the socket has ended.
    package func send(_ packet: [UInt8]) throws(LoopError) -> Bool {
        while true {
            let count = packet.withUnsafeBytes {
                ble_socket_send(descriptor.rawValue, $0.baseAddress, $0.count)
            }
            if count >= 0 { return true }
            switch errno {
            case EINTR: continue
            case EAGAIN, EWOULDBLOCK, ENOBUFS: return false
            default: throw .ended
            }
        }
    }

    /// Returns when there is room, or the other end is closed. Throws `.ended` if this end is closed.
    package func room() async throws(LoopError) {
        let waiter = LoopOutcome<Void>()
        loop.perform { self.await(waiter) }
        do throws(LoopError) {
            try await waiter.wait()
        } catch {
            // A caller that has given up no longer waits for room.
            loop.perform {
                self.waiters.removeAll { $0 === waiter }
                self.updateWatch()
            }
            throw error
        }
    }

    private func await(_ waiter: LoopOutcome<Void>) {
        guard !isClosed, isOpen else {
            waiter.deliver(.failure(.ended))
            return
        }
        waiters.append(waiter)
        updateWatch()
    }

    private func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.deliver(.success(())) }
        updateWatch()
    }
}
