public import BLEFakeBlueZ
import BLETestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension FakeBlueZ {
    /// Returns once a call hangs, or the task is cancelled.
    public func untilHung() async { await until { hungCount > 0 } }
}

extension PrivateBus {
    /// Ends the bus, and returns once its sockets are closed. Blocks the thread.
    public func stopAndWait() {
        // The daemon closes the socket last that it has opened last.
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(probe) }
        let name = address.dropFirst("unix:abstract=".count).utf8
        var place = sockaddr_un()
        place.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &place.sun_path) { path in
            for (index, byte) in name.enumerated() { path[index + 1] = byte }
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 1 + name.count)
        let isConnected = withUnsafePointer(to: &place) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(probe, $0, length) == 0 }
        }
        var space = [UInt8](repeating: 0, count: 256)
        let hello = Array("\0AUTH\r\n".utf8)
        precondition(isConnected && send(probe, hello, hello.count, 0) > 0 && recv(probe, &space, space.count, 0) > 0)
        stop()
        while recv(probe, &space, space.count, 0) > 0 {}
    }
}
