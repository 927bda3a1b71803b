import BLETestSupport
import Loop
import Synchronization
import Testing

@Suite(.hangLimit) struct StreamSocketTests {
    private let loop = EventLoop(name: "streams")

    private func onLoop<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume(returning: work()) }
        }
    }

    /// More than a socket has room for.
    private static let much = [UInt8](repeating: 7, count: 4 << 20)

    @Test func `a socket that is finished and released ends, even if the other end never reads`() async throws {
        var (ours, theirs): (FileDescriptor?, FileDescriptor?) = try StreamSocket.pair()
        weak let watched = ours
        await onLoop { [ours] in
            let socket = StreamSocket(ours!, on: loop)
            socket.open(onBytes: { _ in }, onEnd: {})
            socket.send(Self.much)
            socket.finish(within: .milliseconds(1))
        }
        ours = nil
        await until { watched == nil && loop.timerCount == 0 }
        theirs = nil
        _ = theirs
    }

    @Test func `what was sent arrives whole after the socket is finished and released`() async throws {
        var (ours, theirs): (FileDescriptor?, FileDescriptor?) = try StreamSocket.pair()
        weak let watched = ours
        let (count, ended) = (SharedValue(0), SharedValue(false))
        await onLoop { [ours] in
            let socket = StreamSocket(ours!, on: loop)
            socket.open(onBytes: { _ in }, onEnd: {})
            socket.send(Self.much)
            socket.finish(within: .seconds(3600))
        }
        ours = nil
        let reader = await onLoop { [theirs] in
            let reader = StreamSocket(theirs!, on: loop)
            reader.open { bytes in
                count.change { $0 += bytes.count }
            } onEnd: {
                ended.change { $0 = true }
            }
            return reader
        }
        theirs = nil
        await until { ended.value }
        #expect(count.value == Self.much.count)
        await until { watched == nil && loop.timerCount == 0 }
        withExtendedLifetime(reader) {}
    }

    @Test func `all that wait for room are told when there is some`() async throws {
        let (ours, theirs) = try StreamSocket.pair()
        let told = SharedValue(0)
        let socket = await onLoop {
            let socket = StreamSocket(ours, on: loop)
            socket.send(Self.much)
            for _ in 0..<3 { socket.whenSent { told.change { $0 += 1 } } }
            return socket
        }
        #expect(told.value == 0)
        let reader = await onLoop {
            let reader = StreamSocket(theirs, on: loop)
            reader.open(onBytes: { _ in }, onEnd: {})
            return reader
        }
        await until { told.value == 3 }
        await onLoop {
            socket.close()
            reader.close()
        }
    }

    @Test func `a socket that is released without an end is not watched any more`() async throws {
        var (ours, theirs): (FileDescriptor?, FileDescriptor?) = try StreamSocket.pair()
        weak let watched = ours
        await onLoop { [ours] in
            let socket = StreamSocket(ours!, on: loop)
            socket.open(onBytes: { _ in }, onEnd: {})
            socket.send(Self.much)
        }
        ours = nil
        await until { watched == nil }
        theirs = nil
        _ = theirs
    }
}
