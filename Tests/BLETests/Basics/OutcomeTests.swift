import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct OutcomeTests {
    @Test func `a result that is there already is not waited for`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(1))
        #expect(try await outcome.wait() == 1)
    }

    @Test func `only the first result counts`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(1))
        outcome.deliver(.success(2))
        outcome.deliver(.failure(.cancelled))
        #expect(try await outcome.wait() == 1)
    }

    @Test func `a failure is thrown`() async {
        let outcome = Outcome<Int>()
        outcome.deliver(.failure(BLEError(.busy, "")))
        await expectError(.busy) { try await outcome.wait() }
    }

    @Test func `a result that comes later wakes who waits`() async throws {
        let outcome = Outcome<Int>()
        let waiter = Task { try await outcome.wait() }
        await Task.yield()
        outcome.deliver(.success(3))
        #expect(try await waiter.value == 3)
    }

    @Test func `cancelling ends the wait`() async {
        let outcome = Outcome<Int>()
        let waiter = Task { try await outcome.wait() }
        await Task.yield()
        waiter.cancel()
        await expectError(.cancelled) { try await waiter.value }
        outcome.deliver(.success(1))  // too late, and harmless
    }

    @Test func `a task that is cancelled already does not wait`() async {
        let outcome = Outcome<Int>()
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outcome.wait()
        }
        await expectError(.cancelled) { try await waiter.value }
    }

    @Test func `cancellation does not undo a result`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(4))
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outcome.wait()
        }
        #expect(try await waiter.value == 4)
    }

    @Test func `many that deliver at once wake who waits once`() async throws {
        for _ in 0..<200 {
            let outcome = Outcome<Int>()
            let waiter = Task { try await outcome.wait() }
            await withTaskGroup { group in
                for number in 0..<4 { group.addTask { outcome.deliver(.success(number)) } }
            }
            #expect(try await 0..<4 ~= waiter.value)
        }
    }
}
