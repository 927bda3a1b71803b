import BLE
import BLETestSupport
import Synchronization
import Testing

@Suite(.hangLimit) struct BoundedStreamLifetimeTests {
    private let executor = StepwiseExecutor()
    private let terminations = Counter()

    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .relaxed) }
        func add() { value.add(1, ordering: .relaxed) }
    }

    private func make(
        _ policy: OverflowPolicy = .dropOldest(capacity: 4)
    ) -> (stream: BoundedStream<Int>, producer: BoundedStream<Int>.Producer) {
        BoundedStream.make(policy: policy) { [terminations] in terminations.add() }
    }

    /// A task that reads one element, waiting for it when this returns.
    private func waitingReader(_ stream: BoundedStream<Int>) -> Task<Int?, any Error> {
        let reader = Task(executorPreference: executor) {
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
        executor.run()
        return reader
    }

    @Test func `an element wakes the reader that waits for it`() async throws {
        let (stream, producer) = make()
        let reader = waitingReader(stream)
        producer.yield(7)
        #expect(executor.run())
        #expect(try await reader.value == 7)
    }

    @Test func `the end wakes the reader`() async throws {
        let (stream, producer) = make()
        let reader = waitingReader(stream)
        producer.finish()
        #expect(executor.run())
        #expect(try await reader.value == nil)
    }

    @Test func `an error wakes the reader`() async {
        let (stream, producer) = make()
        let reader = waitingReader(stream)
        producer.finish(throwing: BLEError(.disconnected, "gone"))
        #expect(executor.run())
        await expectError(.disconnected) { try await reader.value }
    }

    @Test func `cancelling wakes the reader with cancelled`() async {
        let (stream, producer) = make()
        let reader = waitingReader(stream)
        reader.cancel()
        #expect(executor.run())
        await expectError(.cancelled) { try await reader.value }
        producer.yield(1)  // nobody is there, and that is no harm
    }

    @Test func `what came before the cancellation is handed out first`() async throws {
        let (stream, producer) = make()
        let reader = waitingReader(stream)
        producer.yield(5)
        reader.cancel()
        #expect(executor.run())
        #expect(try await reader.value == 5)
    }

    @Test func `a cancelled reader does not begin to wait`() async {
        let (stream, producer) = make()
        let reader = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = stream.makeAsyncIterator()
            return try await iterator.next()
        }
        await expectError(.cancelled) { try await reader.value }
        producer.finish()
    }

    @Test func `cancelling one reader leaves the stream to another`() async throws {
        let (stream, producer) = make()
        let first = waitingReader(stream)
        first.cancel()
        executor.run()
        await expectError(.cancelled) { try await first.value }
        #expect(terminations.count == 0)
        producer.yield(5)
        #expect(try await waitingReader(stream).value == 5)
    }

    @Test func `releasing a stream without a reader ends its source`() {
        func drop() -> BoundedStream<Int>.Producer {
            let (stream, producer) = make()
            withExtendedLifetime(stream) { #expect(terminations.count == 0) }
            return producer
        }
        let producer = drop()
        #expect(terminations.count == 1)
        producer.yield(1)
        producer.finish()
        #expect(terminations.count == 1)
    }

    /// Ends a stream when it is released.
    private final class Last: Sendable {
        let producer = Mutex<BoundedStream<Last>.Producer?>(nil)
        deinit { producer.withLock { $0?.finish() } }
    }

    @Test func `an unread element may hold the last reference to what ends the stream`() {
        func drop() {
            let (stream, producer) = BoundedStream.make(of: Last.self, policy: .dropOldest(capacity: 4)) {
                [terminations] in terminations.add()
            }
            let last = Last()
            last.producer.withLock { $0 = producer }
            producer.yield(last)
            withExtendedLifetime(stream) {}
        }
        drop()
        #expect(terminations.count == 1)
    }

    @Test func `an iterator keeps the stream going`() async throws {
        func iterator() -> (BoundedStream<Int>.Iterator, BoundedStream<Int>.Producer) {
            let (stream, producer) = make()
            return (stream.makeAsyncIterator(), producer)
        }
        func read() async throws {
            var (iterator, producer) = iterator()
            producer.yield(1)
            #expect(try await iterator.next() == 1)
            producer.yield(2)
            withExtendedLifetime(iterator) { #expect(terminations.count == 0) }
        }
        try await read()
        #expect(terminations.count == 1)
    }

    @Test func `a stream can be read again after its iterator was dropped`() async throws {
        let (stream, producer) = make()
        producer.yield(1)
        #expect(try await waitingReader(stream).value == 1)
        #expect(terminations.count == 0)
        producer.yield(2)
        #expect(try await waitingReader(stream).value == 2)
    }

    @Test func `leaving the loop ends what feeds it`() async throws {
        func first() async throws -> Int? {
            let (stream, producer) = make()
            producer.yield(1)
            producer.yield(2)
            for try await number in stream { return number }
            return nil
        }
        #expect(try await first() == 1)
        #expect(terminations.count == 1)
    }

    @Test func `finishing ends what feeds it, once`() {
        func drop() {
            let (stream, producer) = make()
            producer.finish()
            producer.finish(throwing: .init(.failed, ""))
            withExtendedLifetime(stream) { #expect(terminations.count == 1) }
        }
        drop()
        #expect(terminations.count == 1)
    }

    @Test func `an overflow that ends the stream ends what feeds it`() {
        let (stream, producer) = make(.fail(capacity: 1))
        producer.yield(1)
        producer.yield(2)
        withExtendedLifetime(stream) {
            #expect(terminations.count == 1)
        }
    }

    @Test func `elements that cannot be read any more are released at once`() {
        final class Value: Sendable {}
        weak var value: Value?
        func drop() -> BoundedStream<Value>.Producer {
            let (stream, producer) = BoundedStream.make(of: Value.self, policy: .dropOldest(capacity: 4))
            let sent = Value()
            value = sent
            producer.yield(sent)
            withExtendedLifetime(stream) { #expect(value != nil) }
            return producer
        }
        let producer = drop()
        withExtendedLifetime(producer) { #expect(value == nil) }
    }

    @Test func `two readers share the elements between them`() async throws {
        let (stream, producer) = make(.fail(capacity: 1000))
        async let first = stream.reduce(into: []) { $0.append($1) }
        async let second = stream.reduce(into: []) { $0.append($1) }
        for number in 0..<1000 { producer.yield(number) }
        producer.finish()
        let (one, other) = try await (first, second)
        #expect((one + other).sorted() == Array(0..<1000))
        #expect(one == one.sorted() && other == other.sorted())
    }

    @Test func `the end reaches both of two readers`() async throws {
        let (stream, producer) = make()
        let first = waitingReader(stream)
        let second = waitingReader(stream)
        producer.finish()
        executor.run()
        #expect(try await first.value == nil)
        #expect(try await second.value == nil)
    }

    @Test func `two readers that wait leave the processor alone`() async throws {
        let (stream, producer) = make()
        let first = waitingReader(stream)
        let second = waitingReader(stream)
        #expect(executor.run())
        producer.finish()
        executor.run()
        _ = try await (first.value, second.value)
    }

    @Test func `reading does not leave the reader's actor`() async throws {
        let (stream, producer) = make()
        let reader = Task { @MainActor in
            var iterator = stream.makeAsyncIterator()
            while let number = try await iterator.next() {
                MainActor.assertIsolated()
                if number == 1 { producer.finish() }
            }
            MainActor.assertIsolated()
        }
        await Task.yield()
        producer.yield(0)
        producer.yield(1)
        try await reader.value
    }
}
