import BLETestSupport
import Loop
import Synchronization
import Testing

/// An actor on the loop's thread.
private actor Counter {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var count = 0

    init(loop: EventLoop) { self.loop = loop }

    /// The number of calls, and whether this one runs on the loop's thread.
    func increment() -> (count: Int, isOnLoop: Bool) {
        count += 1
        return (count, loop.isCurrent)
    }
}

@Suite(.hangLimit)
struct EventLoopTests {
    @Test func `an actor on the loop runs on its thread, one call at a time`() async {
        let counter = Counter(loop: EventLoop())
        await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask {
                    let (_, isOnLoop) = await counter.increment()
                    #expect(isOnLoop)
                }
            }
        }
        #expect(await counter.increment().count == 1001)
    }

    @Test func `a callback on the thread enters the actor without a hop`() async {
        let loop = EventLoop()
        let counter = Counter(loop: loop)
        let count = await withCheckedContinuation { continuation in
            loop.perform {
                continuation.resume(returning: counter.assumeIsolated { $0.increment().count })
            }
        }
        #expect(count == 1)
    }

    @Test func `a task that prefers the loop stays on it`() async {
        let loop = EventLoop()
        await Task(executorPreference: LoopTaskExecutor(loop)) {
            #expect(loop.isCurrent)
            await Task.yield()
            #expect(loop.isCurrent)
        }.value
        #expect(!loop.isCurrent)
    }

    @Test func `work is done in the order it was given`() async {
        let loop = EventLoop()
        let order = Mutex<[Int]>([])
        for number in 0..<1000 {
            loop.perform { [number] in order.withLock { $0.append(number) } }
        }
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
        #expect(order.withLock { $0 } == Array(0..<1000))
    }

    @Test func `an actor outlives the last use of its loop by others`() async {
        let counter = Counter(loop: EventLoop())
        for _ in 0..<100 { _ = await counter.increment() }
        #expect(await counter.increment().count == 101)
    }

    @Test func `loops come and go`() async {
        for _ in 0..<200 {
            let counter = Counter(loop: EventLoop())
            #expect(await counter.increment().isOnLoop)
        }
    }

    @Test(arguments: [
        (Duration.zero, 0), (.nanoseconds(1), 1), (.milliseconds(5), 5), (.seconds(2), 2000), (.seconds(-1), -1000),
        (.seconds(Int64.max), Int.max),
    ])
    func `durations round up to milliseconds`(_ duration: Duration, _ milliseconds: Int) {
        #expect(duration.milliseconds == milliseconds)
    }

    @Test func `a turn that takes longer than allowed is reported, and others are not`() async {
        let loop = EventLoop()
        let reported = SharedValue<[Duration]>([])
        loop.onStall(longerThan: .seconds(3600)) { time in reported.change { $0.append(time) } }
        await withCheckedContinuation { continuation in loop.perform { continuation.resume() } }
        let (stalls, stall) = AsyncStream.makeStream(of: Duration.self)
        await withCheckedContinuation { continuation in
            // Any turn takes longer than this.
            loop.onStall(longerThan: .zero) { stall.yield($0) }
            loop.perform { continuation.resume() }
        }
        for await time in stalls {
            #expect(time > .zero)
            break
        }
        #expect(reported.value.isEmpty)
    }

    @Test func `work that enqueues itself lets the loop's descriptors have their turn`() async throws {
        let loop = EventLoop()
        let ends = try PacketSocket.pair()
        let received = SharedValue(false)
        let sender = PacketSocket(ends.0, on: loop)
        // Enqueues itself until the packet has arrived.
        @Sendable func spin() { if !received.value { loop.perform { spin() } } }
        await withCheckedContinuation { continuation in
            loop.perform {
                let receiver = PacketSocket(ends.1, on: loop)
                receiver.open { _ in
                    received.change { $0 = true }
                    loop.perform {
                        receiver.close()
                        continuation.resume()
                    }
                    return true
                } onEnd: {
                }
                spin()
                _ = try? sender.send([1])
            }
        }
        #expect(received.value)
    }
}
