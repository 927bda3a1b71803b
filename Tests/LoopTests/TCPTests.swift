import BLETestSupport
import Testing
import Waiting

@testable import Loop

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Where connections come from, and where listeners are.
@Suite(.hangLimit) struct TCPTests {
    @Test func `an address of a link names its interface, and one that no interface has none`() {
        let loopback = Int32(if_nametoindex("lo"))
        #expect(TCP.place(of: "fe80::1%lo") == TCP.Place(interface: loopback, family: 1))
        #expect(TCP.place(of: "127.0.0.1") == TCP.Place(interface: loopback, family: 0))
        #expect(TCP.place(of: "2001:db8::7") == TCP.Place(interface: -1, family: 1))
        #expect(TCP.place(of: "0.0.0.0") == TCP.Place(interface: -1, family: 0))
        #expect(TCP.place(of: "nonsense") == TCP.Place())
    }

    @Test func `the source of a connection is its whole address, of IPv4 also through IPv6`() async throws {
        let ends = Ends()
        #expect(try await ends.source(listening: "127.0.0.1", connecting: "127.0.0.1") == [127, 0, 0, 1])
        // A machine may have no IPv6.
        if let source = try await ends.source(listening: "::1", connecting: "::1") {
            #expect(source == [UInt8](repeating: 0, count: 15) + [1])
            #expect(try await ends.source(listening: "::", connecting: "127.0.0.1") == [127, 0, 0, 1])
        }
    }

    /// The two ends of a connection.
    private actor Ends {
        private let loop = EventLoop(name: "TCP")
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        /// Returns the source of a connection. Nil if nothing can listen at the address.
        func source(listening host: String, connecting other: String) async throws -> [UInt8]? {
            let source = LoopOutcome<[UInt8]>()
            guard
                let listener = try? TCP.listen(
                    host, port: 0, on: loop, onConnection: { source.deliver(.success(TCP.source(of: $0))) })
            else { return nil }
            defer { listener.close() }
            let connection = try await TCP.connect(other, port: listener.port, on: loop)
            defer { withExtendedLifetime(connection) {} }
            return try await source.wait()
        }
    }
}
