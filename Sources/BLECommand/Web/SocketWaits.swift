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
    final class SocketWaits: AsyncSocketPool {
        private let loop = EventLoop(name: "web")

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

        /// Waits on a descriptor of its own, so that closing the socket takes nothing away from the wait.
        func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
            let descriptor = FileDescriptor(owning: fcntl(socket.file.rawValue, F_DUPFD_CLOEXEC, 0))
            guard descriptor.rawValue >= 0 else { throw SocketError.disconnected }
            let wait = Wait()
            loop.perform { [loop] in
                wait.begin(
                    DescriptorWatch(descriptor, on: loop, for: events.contains(.write) ? .writing : .reading) { _ in
                        wait.finish()
                    })
            }
            defer { loop.perform { wait.finish() } }
            try await wait.end.wait()
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
