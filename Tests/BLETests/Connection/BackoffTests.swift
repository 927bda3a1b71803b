import Testing

@testable import BLE

struct BackoffTests {
    @Test func `pauses grow up to the limit`() {
        let backoff = Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(3))
        #expect(
            (1...5).map { backoff.pause(afterFailures: $0) }
                == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(3), .seconds(3)])
        #expect(backoff.pause(afterFailures: 1_000_000) == .seconds(3))
    }

    @Test(arguments: [0, 1, -3]) func `a factor that does not grow keeps the pause`(_ factor: Int) {
        let backoff = Backoff(initial: .seconds(1), factor: factor, maximum: .seconds(3))
        #expect(backoff.pause(afterFailures: 40) == .seconds(1))
    }

    @Test(arguments: [Duration.seconds(-1), .zero])
    func `if the first pause is zero or negative, all are zero`(_ initial: Duration) {
        let backoff = Backoff(initial: initial, factor: 2, maximum: .seconds(3))
        #expect((1...100).allSatisfy { backoff.pause(afterFailures: $0) == .zero })
    }

    @Test func `a first pause above the limit is the limit`() {
        #expect(Backoff(initial: .seconds(9), factor: 2, maximum: .seconds(3)).pause(afterFailures: 1) == .seconds(3))
    }
}
