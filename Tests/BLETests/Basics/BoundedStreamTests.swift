import BLE
import BLETestSupport
import Synchronization
import Testing

@Suite(.hangLimit) struct BoundedStreamTests {
    /// All elements up to the end.
    private func all<Element>(_ stream: BoundedStream<Element>) async throws -> [Element] {
        try await stream.reduce(into: []) { $0.append($1) }
    }

    @Test func `elements arrive in the order they were sent`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 10))
        for number in 0..<10 { producer.yield(number) }
        producer.finish()
        #expect(try await all(stream) == Array(0..<10))
        #expect(stream.droppedCount == 0)
    }

    @Test func `a full buffer drops the oldest`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 3))
        for number in 0..<8 { producer.yield(number) }
        producer.finish()
        #expect(try await all(stream) == [5, 6, 7])
        #expect(stream.droppedCount == 5)
    }

    @Test func `a full buffer drops the newest`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropNewest(capacity: 3))
        for number in 0..<8 { producer.yield(number) }
        producer.finish()
        #expect(try await all(stream) == [0, 1, 2])
        #expect(stream.droppedCount == 5)
    }

    @Test func `a full buffer ends the stream with overflow, after what it holds`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .fail(capacity: 3))
        for number in 0..<8 { producer.yield(number) }
        producer.finish()
        var iterator = stream.makeAsyncIterator()
        for number in 0..<3 { #expect(try await iterator.next() == number) }
        let error = await expectError(.overflow) { try await iterator.next() }
        #expect(error?.remedy != nil)
        #expect(stream.droppedCount == 1)
    }

    @Test func `an overflow wakes a reader that waits for the end`() async throws {
        let executor = StepwiseExecutor()
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .fail(capacity: 1))
        let reader = Task(executorPreference: executor) { try await stream.reduce(0) { _, _ in 1 } }
        executor.run()
        producer.yield(1)
        producer.yield(2)
        #expect(executor.run())
        await expectError(.overflow) { try await reader.value }
    }

    @Test(arguments: [0, -1, .min])
    func `a capacity is at least one`(_ capacity: Int) async throws {
        for policy in [OverflowPolicy.dropOldest(capacity: capacity), .dropNewest(capacity: capacity)] {
            #expect(policy.capacity == 1)
            let (stream, producer) = BoundedStream.make(of: Int.self, policy: policy)
            producer.yield(1)
            producer.finish()
            #expect(try await all(stream) == [1])
        }
    }

    @Test func `a reader that has caught up has the whole buffer before it again`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .fail(capacity: 3))
        var iterator = stream.makeAsyncIterator()
        for round in 0..<5 {
            for number in 0..<3 { producer.yield(10 * round + number) }
            for number in 0..<3 { #expect(try await iterator.next() == 10 * round + number) }
        }
        #expect(stream.droppedCount == 0)
    }

    /// A model of the stream: a buffer, and the batch that the reader has taken.
    private struct Model {
        let policy: OverflowPolicy
        var waiting: [Int] = []
        var batch: [Int] = []
        var dropped = 0

        mutating func add(_ element: Int) {
            waiting.append(element)
            guard waiting.count > policy.capacity else { return }
            dropped += 1
            if case .dropOldest = policy { waiting.removeFirst() } else { waiting.removeLast() }
        }

        mutating func next() -> Int? {
            if batch.isEmpty { swap(&batch, &waiting) }
            return batch.isEmpty ? nil : batch.removeFirst()
        }
    }

    @Test(arguments: [1, 2, 3, 5, 8], [false, true])
    func `order and count hold however sending and reading alternate`(_ capacity: Int, _ oldest: Bool) async throws {
        let policy: OverflowPolicy = oldest ? .dropOldest(capacity: capacity) : .dropNewest(capacity: capacity)
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: policy)
        var iterator = stream.makeAsyncIterator()
        var model = Model(policy: policy)
        var seed: UInt32 = 1
        func random(_ bound: Int) -> Int {
            seed = seed &* 1_664_525 &+ 1_013_904_223
            return Int(seed >> 16) % bound
        }
        var number = 0
        for _ in 0..<2000 {
            for _ in 0..<random(2 * capacity + 2) {
                producer.yield(number)
                model.add(number)
                number += 1
            }
            for _ in 0..<random(capacity + 2) {
                guard let expected = model.next() else { break }
                try #require(try await iterator.next() == expected)
            }
            try #require(stream.droppedCount == model.dropped)
        }
        #expect(model.dropped > 0)
    }

    @Test func `what waits is read before the end`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 4))
        producer.yield(1)
        producer.yield(2)
        producer.finish()
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(try await iterator.next() == 2)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @Test func `what waits is read before the error`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 4))
        producer.yield(1)
        producer.finish(throwing: BLEError(.disconnected, "gone"))
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await expectError(.disconnected) { try await iterator.next() }
    }

    @Test func `the first end counts and nothing follows it`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 4))
        producer.finish()
        producer.yield(1)
        producer.finish(throwing: BLEError(.disconnected, "gone"))
        #expect(try await all(stream) == [])
        #expect(stream.droppedCount == 0)
    }

    @Test func `a hundred thousand elements from another task arrive complete and in order`() async throws {
        let count = 100_000
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .fail(capacity: count))
        let sender = Task {
            for number in 0..<count { producer.yield(number) }
            producer.finish()
        }
        var expected = 0
        for try await number in stream {
            if number != expected { break }
            expected += 1
        }
        await sender.value
        #expect(expected == count)
    }

    @Test func `a slow reader gets a part of what was sent, in order, and knows how much it missed`() async throws {
        let count = 100_000
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 16))
        let sender = Task {
            for number in 0..<count { producer.yield(number) }
            producer.finish()
        }
        let received = try await all(stream)
        await sender.value
        #expect(zip(received, received.dropFirst()).allSatisfy { $0 < $1 })
        #expect(received.last == count - 1)
        #expect(received.count + stream.droppedCount == count)
    }

    // MARK: Senders that wait

    @Test func `an offer is never dropped, and returns whether there is room for more`() async throws {
        let told = Mutex(0)
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 2)) {
        } onRoom: {
            told.withLock { $0 += 1 }
        }
        #expect(producer.hasRoom)
        #expect([producer.offer(1), producer.offer(2), producer.offer(3)] == [true, false, false])
        #expect(!producer.hasRoom)
        #expect(told.withLock { $0 } == 0)
        var iterator = stream.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        #expect(told.withLock { $0 } == 1)
        #expect(producer.hasRoom)
        #expect(producer.offer(4))
        #expect(try await [iterator.next(), iterator.next(), iterator.next()] == [2, 3, 4])
        #expect(told.withLock { $0 } == 1)
        #expect(stream.droppedCount == 0)
    }

    @Test func `offers and yields keep their order`() async throws {
        let (stream, producer) = BoundedStream.make(of: Int.self, policy: .dropOldest(capacity: 3))
        for number in 0..<5 { producer.yield(number) }
        #expect(!producer.offer(5))
        producer.yield(6)
        producer.finish()
        var seen: [Int] = []
        for try await number in stream { seen.append(number) }
        #expect(seen == [3, 4, 5, 6])
        #expect(stream.droppedCount == 3)
        #expect(producer.hasRoom)
        #expect(producer.offer(7))
    }
}
