#if Web
    import BLE
    import FlyingSocks
    import Loop
    import Synchronization
    import Waiting

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Waits for the server's sockets on an event loop.
    ///
    /// FlyingFox 0.27's own waits by descriptor number. When a socket is closed while something waits for it, as when a
    /// page goes away during a scan, later connections with that number are never ready.
    ///
    /// A wait holds a descriptor, as its socket does. So that a gateway keeps those that it needs, there are at most
    /// ``connectionLimit`` connections: a further one is closed when it first waits.
    final class SocketWaits: AsyncSocketPool {
        static let connectionLimit = 200

        private let loop = EventLoop(name: "web")
        private let connections = Mutex(Connections())
        /// Is called whenever the server waits for a connection.
        private let onListening: @Sendable () -> Void

        init(onListening: @escaping @Sendable () -> Void) { self.onListening = onListening }

        func prepare() async throws {
            let end = Outcome<Void>()
            loop.perform { [loop] in
                let result = Result { () throws(LoopError) in try loop.prepare() }
                end.deliver(result.mapError { BLEError(.failed, "\($0)") })
            }
            try await end.wait()
        }

        /// Returns when the task is cancelled: the waits run by themselves.
        func run() async throws { try await Outcome<Void>().wait() }

        /// How long a wait lasts that has no descriptor: the caller then tries by itself.
        private static let pause = Duration.milliseconds(100)

        /// Waits on a descriptor of its own, so that closing the socket takes nothing away from the wait.
        func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
            let number = socket.file.rawValue
            if Self.isListening(number) {
                Self.endVanished(number)
                onListening()
            } else {
                guard connections.withLock({ $0.add(number) }) else { throw SocketError.disconnected }
            }
            let descriptor = FileDescriptor(duplicating: number)
            guard descriptor.rawValue >= 0 else { return try await ContinuousClock().sleep(for: Self.pause) }
            let wait = Wait()
            loop.perform { [loop] in
                let readiness: DescriptorWatch.Readiness = events.contains(.write) ? .writing : .reading
                wait.begin(DescriptorWatch(descriptor, on: loop, for: readiness) { _, _ in wait.finish() })
            }
            defer { loop.perform { wait.finish() } }
            try await wait.end.wait()
        }

        /// The open connections, by their descriptors.
        private struct Connections {
            /// The system's number of each socket, which no other one has as long as it is open.
            private var sockets: [Int32: UInt64] = [:]

            /// Adds a connection, if there is room. Returns whether it is one of them.
            mutating func add(_ descriptor: Int32) -> Bool {
                let socket = Self.socket(descriptor)
                guard sockets[descriptor] != socket else { return true }
                sockets[descriptor] = nil
                if sockets.count >= SocketWaits.connectionLimit {
                    // Nobody tells of a connection that has been closed.
                    sockets = sockets.filter { Self.socket($0.key) == $0.value }
                }
                guard sockets.count < SocketWaits.connectionLimit else { return false }
                sockets[descriptor] = socket
                return true
            }

            private static func socket(_ descriptor: Int32) -> UInt64? {
                var status = stat()
                return fstat(descriptor, &status) == 0 ? UInt64(status.st_ino) : nil
            }
        }

        private static func isListening(_ socket: Int32) -> Bool {
            var (value, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            return getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
        }

        /// The time after which a connection ends whose other side has vanished, in seconds.
        private static let vanished: Int32 = 60

        /// Lets the system end connections whose other side has vanished, as when a phone leaves the network. Accepted
        /// connections inherit it.
        private static func endVanished(_ socket: Int32) {
            func set(_ level: Int32, _ option: Int32, _ value: Int32) {
                _ = withUnsafePointer(to: value) {
                    setsockopt(socket, level, option, $0, socklen_t(MemoryLayout<Int32>.size))
                }
            }
            set(SOL_SOCKET, SO_KEEPALIVE, 1)
            set(Int32(IPPROTO_TCP), TCP_KEEPIDLE, vanished / 2)
            set(Int32(IPPROTO_TCP), TCP_KEEPINTVL, vanished / 6)
            set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, vanished * 1000)
        }

        /// A wait, which is over at its first end.
        private final class Wait: Sendable {
            let end = Outcome<Void>()
            private let watch = Mutex<DescriptorWatch?>(nil)

            func begin(_ watch: DescriptorWatch) { self.watch.withLock { $0 = watch } }

            /// Ends the watch. On the loop's thread.
            func finish() {
                end.deliver(.success(()))
                let watch = watch.withLock { watch in
                    defer { watch = nil }
                    return watch
                }
                watch?.cancel()
            }
        }
    }
#endif
