import BLETestSupport
import CLoop
import Synchronization
import Testing
import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@testable import DBus
@testable import Loop

/// Messages through a socket with a small buffer.
@Suite(.hangLimit)
struct MessageOutputTests {
    /// What an output says, and the other end of its socket.
    private final class Fixture: Sendable {
        let events = SharedValue<[String]>([])
        let output: MessageOutput
        let other: FileDescriptor

        init() throws {
            let (own, other) = try StreamSocket.pair()
            var size: Int32 = 4096
            #expect(setsockopt(own.rawValue, SOL_SOCKET, SO_SNDBUF, &size, 4) == 0)
            self.other = other
            output = MessageOutput(
                onBacklog: { [events] in events.change { $0.append("backlog") } },
                onBreak: { [events] in events.change { $0.append("break") } })
            output.open(BusSocket(own))
            output.passesDescriptors = true
        }

        /// Reads what has arrived: the bytes, and how many descriptors came with each part.
        func read() -> (bytes: [UInt8], descriptors: [Int]) {
            var (bytes, descriptors) = ([UInt8](), [Int]())
            var space = [UInt8](repeating: 0, count: 1 << 16)
            var received = [Int32](repeating: -1, count: 16)
            while true {
                var passed = Int32(received.count)
                let count = ble_receive(other.rawValue, &space, space.count, &received, &passed)
                guard count > 0 else { return (bytes, descriptors) }
                bytes += space[..<count]
                guard passed >= 0 else { continue }
                descriptors.append(Int(passed))
                for descriptor in received[..<Int(passed)] { _ = FileDescriptor(owning: descriptor) }
            }
        }

        /// Sends messages of one number each, until the socket is full. Returns what was sent.
        func fill() -> [UInt8] {
            var sent: [UInt8] = []
            var number: UInt8 = 0
            while !output.hasBacklog {
                number &+= 1
                let message = [UInt8](repeating: number, count: 1000)
                output.send(message)
                sent += message
            }
            return sent
        }

        /// Reads and flushes until nothing is left.
        func drain() -> (bytes: [UInt8], descriptors: [Int]) {
            var all = read()
            while output.hasBacklog {
                #expect(output.flush())
                let more = read()
                all.bytes += more.bytes
                all.descriptors += more.descriptors
            }
            return all
        }
    }

    @Test func `what the socket does not take waits, and goes out in order`() throws {
        let fixture = try Fixture()
        var sent = fixture.fill()
        #expect(fixture.events.value == ["backlog"])
        for number in UInt8(200)..<220 {
            let message = [UInt8](repeating: number, count: 500)
            #expect(fixture.output.send(message))
            sent += message
        }
        #expect(fixture.events.value == ["backlog"])
        #expect(fixture.drain().bytes == sent)
        #expect(!fixture.output.hasBacklog)
    }

    @Test func `descriptors go with their own message, once`() throws {
        let fixture = try Fixture()
        let pair = try PacketSocket.pair()
        var sent = fixture.fill()
        for number in UInt8(1)...6 {
            let message = [UInt8](repeating: number, count: 3)
            // The second and fourth have some, one after the other and between others.
            let descriptors = number == 2 ? [pair.0] : number == 4 ? [pair.0, pair.1] : []
            fixture.output.send(message, descriptors)
            sent += message
        }
        let received = fixture.drain()
        #expect(received.bytes == sent)
        #expect(received.descriptors == [1, 2])
    }

    @Test func `descriptors are refused where the bus passes none, and in numbers that it does not pass`() throws {
        let fixture = try Fixture()
        let pair = try PacketSocket.pair()
        #expect(throws: DBusError.self) { try fixture.output.check(Array(repeating: pair.0, count: 17)) }
        try fixture.output.check(Array(repeating: pair.0, count: 16))
        fixture.output.passesDescriptors = false
        #expect(throws: DBusError.self) { try fixture.output.check([pair.0]) }
        try fixture.output.check([])
    }

    @Test func `senders that wait for room continue when there is some`() async throws {
        let fixture = try Fixture()
        _ = fixture.fill()
        guard case .full = fixture.output.sendIfRoom([1]) else {
            Issue.record("there is no room")
            return
        }
        let waiting = (0..<2).map { _ in Task { try await fixture.output.room() } }
        await Task.yield()
        _ = fixture.drain()
        for task in waiting { try await task.value }
        guard case .accepted = fixture.output.sendIfRoom([1]) else {
            Issue.record("there is room")
            return
        }
    }

    @Test func `the close and a cancellation end a wait for room`() async throws {
        let fixture = try Fixture()
        _ = fixture.fill()
        let cancelled = Task { try await fixture.output.room() }
        cancelled.cancel()
        let first = await #expect(throws: DBusError.self) { try await cancelled.value }
        #expect(first?.kind == .cancelled)
        let closed = Task { try await fixture.output.room() }
        await Task.yield()
        fixture.output.close()
        let second = await #expect(throws: DBusError.self) { try await closed.value }
        #expect(second?.kind == .disconnected)
        #expect(!fixture.output.send([1]))
        guard case .closed = fixture.output.sendIfRoom([1]) else {
            Issue.record("it is closed")
            return
        }
    }

    @Test func `a broken socket is reported once`() throws {
        let fixture = try Fixture()
        shutdown(fixture.other.rawValue, Int32(SHUT_RDWR))
        #expect(!fixture.output.send([1]))
        #expect(!fixture.output.send([2]))
        #expect(fixture.events.value == ["break"])
    }

    @Test func `a bus that does not read is given up`() throws {
        let fixture = try Fixture()
        _ = fixture.fill()
        let large = [UInt8](repeating: 0, count: 16 << 20)
        var count = 0
        while fixture.output.send(large), count < 10 { count += 1 }
        #expect(count < 10)
        #expect(fixture.events.value == ["backlog", "break"])
    }

    @Test func `an emitter whose task is cancelled while it waits does not say that the connection is closed`()
        async throws
    {
        let fixture = try Fixture()
        _ = fixture.fill()
        let emitter = PropertyEmitter(
            fixture.output, try BytesChangedMessage(path: "/a", interface: "a.b", property: "Value"))
        let sending = Task { try await emitter.send([1]) }
        sending.cancel()
        let error = await #expect(throws: DBusError.self) { try await sending.value }
        #expect(error?.kind == .cancelled)
        fixture.output.close()
        let closed = await #expect(throws: DBusError.self) { try await emitter.send([1]) }
        #expect(closed?.kind == .disconnected)
    }

    @Test func `unexpected descriptors are closed`() async throws {
        let kept = try giveAway()
        var space: UInt8 = 0
        var passed: Int32 = 0
        // The other end has ended once it is closed.
        while ble_receive(kept.rawValue, &space, 1, nil, &passed) != 0 { await Task.yield() }
    }

    /// Has one end of a pair closed, and returns the other.
    private func giveAway() throws -> FileDescriptor {
        let (kept, given) = try StreamSocket.pair()
        #expect(DescriptorReaper().close([given]))
        return kept
    }

    // MARK: What is held

    @Test func `what is held goes out in order when it is released`() throws {
        let fixture = try Fixture()
        let pair = try PacketSocket.pair()
        fixture.output.hold()
        fixture.output.send([1, 1])
        fixture.output.send([2], [pair.0])
        fixture.output.send([3, 3])
        guard case .accepted = fixture.output.sendIfRoom([4]) else {
            Issue.record("not accepted")
            return
        }
        #expect(fixture.read().bytes.isEmpty)
        #expect(fixture.output.release())
        let received = fixture.read()
        #expect(received.bytes == [1, 1, 2, 3, 3, 4])
        #expect(received.descriptors == [1])
        #expect(!fixture.output.hasBacklog)
        // Nothing is held any more.
        fixture.output.send([5])
        #expect(fixture.read().bytes == [5])
    }

    @Test func `much that is held is written at once`() throws {
        let fixture = try Fixture()
        fixture.output.hold()
        let message = [UInt8](repeating: 7, count: 1000)
        var sent = 0
        var received: [UInt8] = []
        while received.isEmpty, sent < 1 << 20 {
            fixture.output.send(message)
            sent += message.count
            received = fixture.read().bytes
        }
        #expect(received.count == sent || fixture.output.hasBacklog)
        #expect(sent < 1 << 16)
    }

    @Test func `a held message that a full socket does not accept waits for room`() async throws {
        let fixture = try Fixture()
        fixture.output.hold()
        let sent = fixture.fill()
        #expect(fixture.output.release())
        #expect(fixture.events.value == ["backlog"])
        guard case .full = fixture.output.sendIfRoom([1]) else {
            Issue.record("there was room")
            return
        }
        #expect(fixture.drain().bytes == sent)
    }

    @Test func `a sender that waits for room does not wait for held messages`() async throws {
        let fixture = try Fixture()
        fixture.output.hold()
        fixture.output.send([1])
        try await fixture.output.room()
        #expect(fixture.output.release())
    }
}
