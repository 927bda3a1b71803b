import BLETestSupport
import Loop
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The loop's turns: what is ready together, and what wakes the thread.
@Suite(.hangLimit) struct LoopTurnTests {
    private let loop = EventLoop(name: "turns")

    private func onLoop<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            loop.perform { continuation.resume(with: Result { try work() }) }
        }
    }

    /// What a test has made on the loop's thread. Safe to share: used there only.
    private final class Watches: @unchecked Sendable {
        var all: [DescriptorWatch] = []
        var kept: [FileDescriptor] = []

        func cancel() {
            for watch in all { watch.cancel() }
            (all, kept) = ([], [])
        }
    }

    @Test func `of two watches that are ready in one turn, the first cancels the second, which is not called`()
        async throws
    {
        for _ in 0..<20 {
            let (watches, called) = (Watches(), SharedValue<[Int]>([]))
            try await onLoop {
                // Both are ready when the loop looks.
                for number in 0..<2 {
                    let (own, other) = try StreamSocket.pair()
                    watches.kept.append(other)
                    watches.all.append(
                        DescriptorWatch(own, on: loop, for: .writing) { [weak watches] _, _ in
                            called.change { $0.append(number) }
                            watches?.all[1 - number].cancel()
                        })
                }
            }
            try await called.until { !$0.isEmpty }
            for _ in 0..<3 { try await onLoop {} }
            try await onLoop { watches.all.forEach { $0.readiness = nil } }
            // Whichever it was: it alone, time and again.
            #expect(Set(called.value).count == 1)
            try await onLoop { watches.cancel() }
        }
    }

    @Test func `a watch that another one has changed in the same turn is called for what it still waits for`()
        async throws
    {
        let (watches, seen) = (Watches(), SharedValue<[UInt32]>([]))
        try await onLoop {
            for number in 0..<2 {
                let (own, other) = try StreamSocket.pair()
                _ = other.rawValue.sendByte()
                watches.kept.append(other)
                watches.all.append(
                    DescriptorWatch(own, on: loop, for: [.reading, .writing]) { [weak watches] _, ready in
                        if seen.value.isEmpty { watches?.all[1 - number].readiness = .reading }
                        seen.change { $0.append(ready.rawValue) }
                        if seen.value.count == 2 { watches?.cancel() }
                    })
            }
        }
        try await seen.until { $0.count == 2 }
        let reading = DescriptorWatch.Readiness.reading
        let both = reading.union(.writing)
        #expect(seen.value == [both.rawValue, reading.rawValue])
    }

    @Test func `a descriptor with the number of one that was closed in the same turn has its own events`()
        async throws
    {
        let (watches, seen) = (Watches(), SharedValue<[String]>([]))
        let quiet = try StreamSocket.pair()
        try await onLoop {
            // Both are ready when the loop looks. Nothing else has numbers as high as theirs.
            let numbers = SharedValue<[Int32]>([])
            for index in 0..<2 {
                let (own, other) = try StreamSocket.pair()
                _ = other.rawValue.sendByte()
                watches.kept.append(other)
                let high = own.rawValue.highDuplicate()
                numbers.change { $0.append(high.rawValue) }
                watches.all.append(
                    DescriptorWatch(high, on: loop, for: .reading) { [weak watches] watch, _ in
                        seen.change { $0.append("ready") }
                        watches?.all[1 - index].cancel()
                        let new = quiet.0.rawValue.highDuplicate()
                        if new.rawValue == numbers.value[1 - index] { seen.change { $0.append("same number") } }
                        let second = DescriptorWatch(new, on: loop, for: .reading) { watch, _ in
                            seen.change { $0.append("has bytes") }
                            watch.cancel()
                        }
                        watch.cancel()
                        watches?.all = [second]
                    })
            }
        }
        try await seen.until { $0.count == 2 }
        for _ in 0..<5 { try await onLoop {} }
        #expect(seen.value == ["ready", "same number"])
        _ = quiet.1.rawValue.sendByte()
        try await seen.until { $0.count == 3 }
        #expect(seen.value.last == "has bytes")
        try await onLoop { watches.cancel() }
    }

    @Test func `all of many descriptors that stay ready are called, again and again`() async throws {
        let (watches, counts) = (Watches(), SharedValue([Int](repeating: 0, count: 300)))
        try await onLoop {
            for number in 0..<150 {
                let ends = try StreamSocket.pair()
                for (index, end) in [(2 * number, ends.0), (2 * number + 1, ends.1)] {
                    watches.all.append(
                        DescriptorWatch(end, on: loop, for: .writing) { _, _ in counts.change { $0[index] += 1 } })
                }
            }
        }
        // None has a fourth turn long before another has its first.
        try await counts.until { $0.allSatisfy { $0 >= 3 } }
        try await onLoop { watches.cancel() }
        #expect((counts.value.max() ?? 0) - (counts.value.min() ?? 0) <= 1)
    }

    @Test func `a watch that is to be called again is, once, although its descriptor is not ready`() async throws {
        let (watches, seen) = (Watches(), SharedValue<[UInt32]>([]))
        try await onLoop {
            let (own, other) = try StreamSocket.pair()
            watches.kept = [other]
            let watch = DescriptorWatch(own, on: loop, for: .reading) { watch, ready in
                seen.change { $0.append(ready.rawValue) }
                if seen.value.count < 3 { watch.runAgain() }
            }
            watches.all = [watch]
            watch.runAgain()
            watch.runAgain()
        }
        try await seen.until { $0.count == 3 }
        for _ in 0..<5 { try await onLoop {} }
        #expect(seen.value == [0, 0, 0])
        try await onLoop {
            watches.all[0].runAgain()
            watches.cancel()
        }
        for _ in 0..<5 { try await onLoop {} }
        #expect(seen.value == [0, 0, 0])
    }

    @Test func `a watch that is always ready, and asks to be called again, does not multiply`() async throws {
        let (watches, counts) = (Watches(), SharedValue([0, 0]))
        try await onLoop {
            let (one, other) = try StreamSocket.pair()
            watches.all = [
                DescriptorWatch(one, on: loop, for: .writing) { watch, _ in
                    counts.change { $0[0] += 1 }
                    watch.runAgain()
                },
                DescriptorWatch(other, on: loop, for: .writing) { _, _ in counts.change { $0[1] += 1 } },
            ]
        }
        try await counts.until { $0[1] >= 50 }
        try await onLoop { watches.cancel() }
        #expect(counts.value[0] <= 2 * counts.value[1] + 2)
    }

    @Test func `what the system cannot wait for is reported as ended, once`() async throws {
        let (watches, seen) = (Watches(), SharedValue<[UInt32]>([]))
        try await onLoop {
            let null = FileDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
            watches.all = [
                DescriptorWatch(null, on: loop, for: .reading) { _, ready in seen.change { $0.append(ready.rawValue) } }
            ]
        }
        try await seen.until { !$0.isEmpty }
        for _ in 0..<5 { try await onLoop {} }
        #expect(seen.value == [DescriptorWatch.Readiness.end.rawValue])
        try await onLoop { watches.cancel() }
    }

    @Test func `a second watch of a paused one's descriptor is possible, and of a closed socket the end is reported`()
        async throws
    {
        let (watches, seen) = (Watches(), SharedValue<[UInt32]>([]))
        try await onLoop {
            let (own, other) = try StreamSocket.pair()
            let paused = DescriptorWatch(own, on: loop, for: .reading) { _, _ in seen.change { $0.append(0) } }
            paused.pause(for: .seconds(3600))
            watches.all = [
                paused,
                DescriptorWatch(own, on: loop, for: []) { watch, ready in
                    seen.change { $0.append(ready.rawValue) }
                    watch.cancel()
                },
            ]
            withExtendedLifetime(other) {}
        }
        try await seen.until { !$0.isEmpty }
        #expect(DescriptorWatch.Readiness(rawValue: seen.value[0]).isSubset(of: .end))
        try await onLoop { watches.cancel() }
    }

    @Test func `no wake-up is lost, however many threads enqueue while the loop goes to sleep`() async throws {
        let total = 20_000
        let done = SharedValue(0)
        try await withThrowingTaskGroup { group in
            for _ in 0..<6 {
                group.addTask {
                    for _ in 0..<total / 6 {
                        // Each waits until it is done, so that the loop sleeps between most of them.
                        await withCheckedContinuation { continuation in
                            loop.perform {
                                done.change { $0 += 1 }
                                continuation.resume()
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(done.value == total / 6 * 6)
    }

    @Test func `deadlines that other threads set and remove while the loop sleeps are all met`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 0..<6 {
                group.addTask {
                    for step in 0..<100 {
                        let later = Task { try await loop.clock.sleep(for: .seconds(3600)) }
                        // Each may be the next deadline, or not.
                        try await loop.clock.sleep(for: .microseconds(50 * ((step * 7 + number) % 20)))
                        later.cancel()
                        _ = await later.result
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(loop.timerCount == 0)
    }
}

extension Int32 {
    /// Another descriptor of the same file, with a number that is not the lowest free one.
    fileprivate func highDuplicate() -> FileDescriptor { FileDescriptor(owning: fcntl(self, F_DUPFD_CLOEXEC, 900)) }

    /// Sends one byte over the socket with this number.
    fileprivate func sendByte() -> Int {
        var byte: UInt8 = 1
        return send(self, &byte, 1, 0)
    }
}
