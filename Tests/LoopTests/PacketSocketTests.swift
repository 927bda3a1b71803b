import BLETestSupport
import Loop
import Synchronization
import Testing

@Suite(.hangLimit) struct PacketSocketTests {
    private let loop = EventLoop(name: "sockets")

    /// The events of one end.
    private final class Seen: Sendable {
        struct State {
            var packets: [[UInt8]] = []
            var room = Int.max
            var ended = 0
        }
        let state = Mutex(State())
        var packets: [[UInt8]] { state.withLock { $0.packets } }
        var ended: Int { state.withLock { $0.ended } }

        func take(_ packet: [UInt8]) -> Bool {
            state.withLock { state in
                state.packets.append(packet)
                state.room -= 1
                return state.room > 0
            }
        }
    }

    private func onLoop<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume(returning: work()) }
        }
    }

    /// Two ends, of which the first is open for reading.
    private func pair(_ seen: Seen) async throws -> (PacketSocket, PacketSocket) {
        let (first, second) = try PacketSocket.pair()
        let (reader, writer) = (PacketSocket(first, on: loop), PacketSocket(second, on: loop))
        await onLoop {
            reader.open(onPacket: { seen.take($0) }) { seen.state.withLock { $0.ended += 1 } }
            writer.open(onPacket: nil) {}
        }
        return (reader, writer)
    }

    private func close(_ sockets: PacketSocket...) async {
        await onLoop { for socket in sockets { socket.close() } }
    }

    @Test func `packets stay apart and in order, empty ones too`() async throws {
        let seen = Seen()
        let (reader, writer) = try await pair(seen)
        let packets: [[UInt8]] = [[1], [], [2, 3], [], [], [UInt8](repeating: 9, count: 514)]
        for packet in packets { #expect(try writer.send(packet)) }
        await until { seen.packets.count >= packets.count }
        #expect(seen.packets == packets)
        #expect(seen.ended == 0)
        await close(reader, writer)
    }

    @Test func `the end comes once, after everything that was sent`() async throws {
        let seen = Seen()
        let (reader, writer) = try await pair(seen)
        for number in UInt8(0)..<100 { #expect(try writer.send([number])) }
        await close(writer)
        await until { seen.ended > 0 }
        #expect(seen.packets == (0..<100).map { [$0] })
        #expect(seen.ended == 1)
        await close(reader)
        #expect(seen.ended == 1)
    }

    @Test func `without room nothing is read, until there is`() async throws {
        let seen = Seen()
        seen.state.withLock { $0.room = 3 }
        let (reader, writer) = try await pair(seen)
        for number in UInt8(0)..<10 { #expect(try writer.send([number])) }
        await until { seen.packets.count >= 3 }
        for _ in 0..<10 { await onLoop {} }
        #expect(seen.packets.count == 3)
        seen.state.withLock { $0.room = 2 }
        await onLoop { reader.resume() }
        await until { seen.packets.count >= 5 }
        await onLoop {}
        #expect(seen.packets.count == 5)
        await onLoop { _ = reader.drain() }
        #expect(seen.packets == (0..<10).map { [$0] })
        await close(reader, writer)
    }

    @Test func `a limited number is drained, and more on request`() async throws {
        let seen = Seen()
        seen.state.withLock { $0.room = 1 }
        let (reader, writer) = try await pair(seen)
        for number in UInt8(0)..<8 { #expect(try writer.send([number])) }
        await until { seen.packets.count >= 1 }
        await onLoop {
            #expect(!reader.drain(atMost: 3))
            #expect(seen.packets.count == 4)
            #expect(reader.drain(atMost: 5))
        }
        #expect(seen.packets == (0..<8).map { [$0] })
        await close(reader, writer)
    }

    @Test func `an end that is not read is not looked at`() async throws {
        let seen = Seen()
        seen.state.withLock { $0.room = 1 }
        let (reader, writer) = try await pair(seen)
        for number in UInt8(0)..<3 { #expect(try writer.send([number])) }
        await until { seen.packets.count >= 1 }
        await close(writer)
        for _ in 0..<10 { await onLoop {} }
        #expect(seen.ended == 0)
        seen.state.withLock { $0.room = 10 }
        await onLoop { reader.resume() }
        await until { seen.ended == 1 }
        #expect(seen.packets == [[0], [1], [2]])
        await close(reader)
    }

    @Test func `an end that is not read can wait for room, also when the other end is closed`() async throws {
        let (first, second) = try PacketSocket.pair()
        let seen = Seen()
        seen.state.withLock { $0.room = 1 }
        let (one, other) = (PacketSocket(first, on: loop), PacketSocket(second, on: loop))
        await onLoop {
            one.open(onPacket: { seen.take($0) }) { seen.state.withLock { $0.ended += 1 } }
            other.open(onPacket: { _ in true }) {}
        }
        #expect(try other.send([1]))
        #expect(try other.send([2]))
        await until { seen.packets.count >= 1 }
        try await one.room()
        #expect(try one.send([3]))
        await close(other)
        // It returns, and sending throws the error; the packets and the end wait for room.
        try await one.room()
        #expect(throws: LoopError.self) { try one.send([4]) }
        #expect(seen.ended == 0)
        seen.state.withLock { $0.room = 10 }
        await onLoop { one.resume() }
        await until { seen.ended == 1 }
        #expect(seen.packets == [[1], [2]])
        await close(one)
    }

    @Test func `a full socket is waited for`() async throws {
        let seen = Seen()
        seen.state.withLock { $0.room = 1 }
        let (reader, writer) = try await pair(seen)
        var sent = 0
        while try writer.send([UInt8](repeating: 1, count: 100)) { sent += 1 }
        #expect(sent > 10)
        let waiting = Task { try await writer.room() }
        seen.state.withLock { $0.room = .max }
        await onLoop { reader.resume() }
        try await waiting.value
        #expect(try writer.send([2]))
        await until { seen.packets.count >= sent + 1 }
        await close(reader, writer)
    }

    @Test func `a wait for room ends with its task, with this end and with the other`() async throws {
        for end in 0..<3 {
            let seen = Seen()
            seen.state.withLock { $0.room = 1 }
            let (reader, writer) = try await pair(seen)
            while try writer.send([1]) {}
            let waiting = Task { try await writer.room() }
            switch end {
            case 0: waiting.cancel()
            case 1: await close(writer)
            default: await close(reader)
            }
            let error = await #expect(throws: LoopError.self) {
                try await waiting.value
                _ = try writer.send([1])
            }
            #expect(error == (end == 0 ? .cancelled : .ended))
            await close(reader, writer)
        }
    }

    @Test func `sending to an end that has closed is an error`() async throws {
        let (reader, writer) = try await pair(Seen())
        await close(reader)
        #expect(throws: LoopError.self) { try writer.send([1]) }
        await close(writer)
        #expect(throws: LoopError.self) { try writer.send([1]) }
    }
}
