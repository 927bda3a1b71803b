import BLE
import BLETestSupport
import Testing
import Waiting

@testable import BLEFeatures

@Suite(.hangLimit) struct SharedWorkTests {
    private let gate = Outcome<Int>()

    private func waiters(_ work: SharedWork<Int>, _ count: Int) async -> [Task<Int, any Error>] {
        let tasks = (0..<count).map { _ in Task { try await work.value() } }
        await until { work.waiterCount == count }
        return tasks
    }

    @Test func `all callers get the result of the work, which is done once`() async throws {
        let runs = SharedValue(0)
        let work = SharedWork { [gate] () throws(BLEError) in
            runs.change { $0 += 1 }
            return try await gate.wait()
        }
        let tasks = await waiters(work, 3)
        gate.deliver(.success(7))
        for task in tasks { #expect(try await task.value == 7) }
        #expect(try await work.value() == 7)
        #expect(runs.value == 1)
        #expect(work.isOver)
    }

    @Test func `a caller that leaves does not end it for the others`() async throws {
        let work = SharedWork { [gate] () throws(BLEError) in try await gate.wait() }
        let tasks = await waiters(work, 2)
        tasks[0].cancel()
        await expectError(.cancelled) { try await tasks[0].value }
        #expect(!work.isOver)
        gate.deliver(.success(1))
        #expect(try await tasks[1].value == 1)
    }

    @Test func `who has joined keeps the work, even before waiting for it`() async throws {
        let work = SharedWork { [gate] () throws(BLEError) in try await gate.wait() }
        let others = await waiters(work, 1)
        let waiter = try #require(work.join())
        others[0].cancel()
        await expectError(.cancelled) { try await others[0].value }
        #expect(!work.isOver)
        gate.deliver(.success(2))
        #expect(try await work.value(of: waiter) == 2)
    }

    @Test func `work that was abandoned cannot be joined`() async throws {
        let work = SharedWork { () throws(BLEError) -> Int in
            await untilCancelled()
            throw .cancelled
        }
        for task in await waiters(work, 1) { task.cancel() }
        await until { work.isAbandoned }
        let isJoined = work.join() != nil
        #expect(!isJoined)
        await expectError(.cancelled) { try await work.value() }
    }

    @Test func `when the last has left the work is cancelled`() async throws {
        let isCancelled = SharedValue(false)
        let work = SharedWork { () throws(BLEError) -> Int in
            await untilCancelled()
            isCancelled.change { $0 = true }
            throw .cancelled
        }
        for task in await waiters(work, 2) { task.cancel() }
        await until { isCancelled.value }
        #expect(work.isOver)
    }

    @Test func `a result without a waiting caller is given back`() async throws {
        let discarded = SharedValue<[Int]>([])
        let work = SharedWork { () throws(BLEError) -> Int in
            await untilCancelled()
            return 5
        } discard: { value in
            discarded.change { $0.append(value) }
        }
        for task in await waiters(work, 1) { task.cancel() }
        await until { discarded.value == [5] }
    }

    @Test func `a waiter that is cancelled in the moment of the result does not take it`() async throws {
        for _ in 0..<300 {
            let (gate, discarded) = (Outcome<Int>(), SharedValue(0))
            let work = SharedWork { () throws(BLEError) in
                try await gate.wait()
            } discard: { _ in
                discarded.change { $0 += 1 }
            }
            let waiter = Task { try await work.value() }
            await Task.yield()
            async let cancelling: Void = waiter.cancel()
            gate.deliver(.success(1))
            await cancelling
            let result = await waiter.result
            await work.untilEnded()
            // A caller has it, or it was given back; never both, never neither.
            let isTaken = (try? result.get()) != nil
            #expect(isTaken == (discarded.value == 0 && !work.isAbandoned))
        }
    }

    @Test func `work that ends before a caller waits is not given up`() async throws {
        let work = SharedWork { () throws(BLEError) in 3 }
        await work.untilEnded()
        #expect(try await work.value() == 3)
    }
}
