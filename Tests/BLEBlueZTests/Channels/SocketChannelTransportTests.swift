import BLE
import BLETestSupport
import Loop
import Testing

@testable import BLEBlueZ
@testable import DBus

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// How a channel over a socket ends.
@Suite(.hangLimit) struct SocketChannelTransportTests {
    private let loop = EventLoop(name: "channels")

    /// Opens a channel over a socket. Returns how it ends.
    private func end(_ descriptor: FileDescriptor, linkError: BLEError? = nil) async -> BLEError? {
        let socket = ChannelSocket(descriptor, sendLength: 23, receiveLength: 100)
        let transport = SocketChannelTransport(socket, loop: loop) { linkError }
        defer { transport.close() }
        return await withCheckedContinuation { continuation in
            loop.perform {
                transport.start { _ in
                    true
                } onEnd: {
                    continuation.resume(returning: $0)
                }
            }
        }
    }

    /// A socket that the kernel has closed: it hangs up, but the other side has not shut it down.
    private func closedByKernel() throws -> FileDescriptor {
        let descriptor = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        return FileDescriptor(owning: descriptor)
    }

    @Test func `a channel that the kernel closes while the link is up was one whose rules were broken`() async throws {
        let error = try #require(await end(try closedByKernel()))
        #expect(error.code == .disconnected)
        #expect(!error.isRetryable)
        #expect(error.remedy?.contains("more than 100 bytes") == true)
    }

    @Test func `a channel that ends with its link has the link's error`() async throws {
        let error = await end(try closedByKernel(), linkError: BLEError(.disconnected, "out of range"))
        #expect(error?.message == "out of range")
    }

    @Test func `a channel that the other side closes ends without an error`() async throws {
        let (here, there) = try PacketSocket.pair()
        let other = PacketSocket(there, on: loop)
        loop.perform { other.close() }
        #expect(await end(here) == nil)
    }
}
