internal import CLoop
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// One end of a stream of bytes, such as a TCP connection, read and written on an event loop.
///
/// Safe to share: used on the loop's thread only, which each entry point checks.
package final class StreamSocket: @unchecked Sendable {
    private let descriptor: FileDescriptor
    private let loop: EventLoop
    private var watch: DescriptorWatch?
    private var isReading = false
    /// Whether bytes wait for room in the socket.
    private var isFull = false
    private var onBytes: ((ArraySlice<UInt8>) -> Void)?
    private var onEnd: (() -> Void)?
    private var onRoom: [() -> Void] = []
    private var unsent: [UInt8] = []
    private var isClosed = false
    private var isClosing = false
    /// Ends the wait for room after ``finish(within:)``, and retains the socket until then.
    private var expiry: LoopTimer?
    private var space = [UInt8](repeating: 0, count: 16_384)

    /// The maximum number of reads before the loop does its other work.
    private static let readsPerTurn = 4

    package init(_ descriptor: FileDescriptor, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
    }

    deinit {
        // The watch retains itself until it is cancelled.
        if let watch { loop.perform { watch.cancel() } }
    }

    /// Creates two connected ends.
    package static func pair() throws(LoopError) -> (FileDescriptor, FileDescriptor) {
        var descriptors: [Int32] = [-1, -1]
        guard ble_socket_pair(BLE_STREAM, &descriptors) == 0 else { throw .system(errno) }
        return (FileDescriptor(owning: descriptors[0]), FileDescriptor(owning: descriptors[1]))
    }

    /// Starts to read.
    ///
    /// - Parameters:
    ///   - onBytes: receives what arrives, on the loop's thread.
    ///   - onEnd: called once, on the loop's thread, if the other end closes or the connection fails. Not called after
    ///     ``close()``.
    package func open(onBytes: @escaping (ArraySlice<UInt8>) -> Void, onEnd: @escaping () -> Void) {
        loop.checkIsolated()
        guard !isClosed else { return }
        (self.onBytes, self.onEnd) = (onBytes, onEnd)
        resume()
    }

    /// Reads no more until ``resume()``.
    package func pause() {
        loop.checkIsolated()
        isReading = false
        updateWatch()
    }

    /// Goes on to read after ``pause()``.
    package func resume() {
        loop.checkIsolated()
        guard !isClosed, !isClosing else { return }
        isReading = true
        updateWatch()
    }

    private func updateWatch() {
        // The end of a socket that is not read is found when it is read again.
        let readiness: DescriptorWatch.Readiness? =
            isReading ? isFull ? [.reading, .writing] : .reading : isFull ? .writing : nil
        if let watch {
            watch.readiness = readiness
        } else if let readiness {
            watch = DescriptorWatch(descriptor, on: loop, for: readiness) { [weak self] _, ready in self?.run(ready) }
        }
    }

    private func run(_ ready: DescriptorWatch.Readiness) {
        if isReading, ready != .writing { read() }
        if isFull, ready != .reading { write() }
    }

    private func read() {
        for _ in 0..<Self.readsPerTurn {
            // What it has passed on may have closed or paused it.
            guard isReading else { return }
            let count = space.withUnsafeMutableBytes {
                recv(descriptor.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
            }
            if count > 0 {
                onBytes?(space.prefix(count))
                if count < space.count { return }
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN || errno == EWOULDBLOCK {
                return
            } else {
                return end()
            }
        }
    }

    /// The number of bytes that wait for room in the socket.
    package var unsentCount: Int { unsent.count }

    /// Sends bytes, after those that wait.
    package func send(_ bytes: [UInt8]) {
        loop.checkIsolated()
        guard !isClosed, !isClosing, !bytes.isEmpty else { return }
        unsent += bytes
        if !isFull { write() }
    }

    /// Calls `work` once, on the loop's thread, when nothing waits for room any more. Not called after the end.
    package func whenSent(_ work: @escaping () -> Void) {
        loop.checkIsolated()
        if unsent.isEmpty { work() } else { onRoom.append(work) }
    }

    private func write() {
        var sent = 0
        while sent < unsent.count {
            let count = unsent.withUnsafeBytes {
                ble_socket_send(descriptor.rawValue, $0.baseAddress! + sent, $0.count - sent)
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN || errno == EWOULDBLOCK {
                break
            } else if errno != EINTR {
                unsent = []
                return end()
            }
        }
        unsent.removeFirst(sent)
        if isFull == unsent.isEmpty {
            isFull = !unsent.isEmpty
            updateWatch()
        }
        guard !isFull else { return }
        if isClosing { return close() }
        let work = onRoom
        onRoom = []
        for work in work { work() }
    }

    private func end() {
        let work = onEnd
        close()
        work?()
    }

    /// Closes after what was sent has left, and reads nothing more. The socket may be released meanwhile.
    ///
    /// - Parameter limit: the time after which it is closed even if the other end has not taken everything.
    package func finish(within limit: Duration = .seconds(5)) {
        loop.checkIsolated()
        guard !isClosed, !isClosing else { return }
        if unsent.isEmpty { return close() }
        isClosing = true
        pause()
        (onBytes, onEnd, onRoom) = (nil, nil, [])
        expiry = loop.schedule(after: limit) { self.close() }
    }

    /// Closes at once. Bytes that wait are lost.
    package func close() {
        loop.checkIsolated()
        guard !isClosed else { return }
        isClosed = true
        watch?.cancel()
        watch = nil
        (isReading, isFull) = (false, false)
        expiry?.cancel()
        expiry = nil
        _ = shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
        unsent = []
        (onBytes, onEnd, onRoom) = (nil, nil, [])
    }
}

extension LoopError {
    /// The error for a number of the system.
    static func system(_ number: Int32) -> LoopError {
        switch number {
        case EMFILE, ENFILE: .exhausted
        case EADDRINUSE: .inUse
        default: .refused(String(cString: strerror(number)))
        }
    }
}
