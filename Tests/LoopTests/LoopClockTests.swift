import BLETestSupport
import Testing
import Waiting

@testable import Loop

@Suite(.hangLimit)
struct LoopClockTests {
    @Test func `sleeps end in the order of their deadlines, not before them`() async throws {
        let loop = EventLoop()
        let start = ContinuousClock.now
        let ended = SharedValue<[Int]>([])
        try await withThrowingTaskGroup { group in
            for number in [3, 1, 0, 2] {
                group.addTask {
                    let deadline = start + .milliseconds(200 * number)
                    try await loop.clock.sleep(until: deadline)
                    #expect(ContinuousClock.now >= deadline)
                    // On the loop's thread they would be in order. Elsewhere, they are as far as they are apart.
                    ended.change { $0.append(number) }
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(ended.value) == [0, 1, 2, 3])
    }

    @Test func `a sleep of the past ends, and a cancelled one throws`() async throws {
        let loop = EventLoop()
        try await loop.clock.sleep(until: .now - .seconds(1))
        try await loop.clock.sleep(for: .zero)
        let long = Task { try await loop.clock.sleep(for: .seconds(1_000_000_000_000)) }
        long.cancel()
        await #expect(throws: CancellationError.self) { try await long.value }
        // The loop goes on.
        try await loop.clock.sleep(for: .milliseconds(1))
    }

    @Test func `the queue returns what is due in order, whatever was added and removed`() {
        var generator = SeededGenerator(seed: 7)
        let start = ContinuousClock.now
        for _ in 0..<50 {
            var queue = TimerQueue<ContinuousClock.Instant, LoopOutcome<Void>>()
            var model: [UInt64: (deadline: ContinuousClock.Instant, sleeper: LoopOutcome<Void>)] = [:]
            var now = 0
            for _ in 0..<300 {
                switch Int.random(in: 0..<10, using: &generator) {
                case 0..<5:
                    let deadline = start + .milliseconds(now + Int.random(in: 0...100, using: &generator))
                    let sleeper = LoopOutcome<Void>()
                    model[queue.add(deadline, sleeper)] = (deadline, sleeper)
                case 5..<8:
                    guard let number = model.keys.randomElement(using: &generator) else { continue }
                    queue.remove(number)
                    model[number] = nil
                default:
                    now += Int.random(in: 0...40, using: &generator)
                    let due = queue.takeDue(at: start + .milliseconds(now))
                    let expected = model.filter { $0.value.deadline <= start + .milliseconds(now) }
                    #expect(
                        Set(due.map(ObjectIdentifier.init)) == Set(expected.map { ObjectIdentifier($0.value.sleeper) }))
                    let deadlines = due.compactMap { sleeper in
                        model.first { $0.value.sleeper === sleeper }?.value.deadline
                    }
                    #expect(deadlines == deadlines.sorted())
                    for number in expected.keys { model[number] = nil }
                }
                #expect(queue.count == model.count)
                if let next = queue.next, let least = model.values.map(\.deadline).min() { #expect(next <= least) }
            }
        }
    }

    @Test func `sleeps that were cancelled leave nothing behind`() async {
        let loop = EventLoop()
        for _ in 0..<20 {
            await withTaskGroup { group in
                for _ in 0..<50 { group.addTask { try? await loop.clock.sleep(for: .seconds(3600)) } }
                group.cancelAll()
            }
        }
        #expect(loop.timerCount == 0)
    }
}
