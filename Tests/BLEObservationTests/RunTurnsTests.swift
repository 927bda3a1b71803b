import BLE
import BLETestSupport
import Testing

@testable import BLEObservation

@MainActor @Suite(.hangLimit) struct RunTurnsTests {
    @Test func `a run that is cancelled while it waits leaves nothing behind, and the next one has its turn`()
        async throws
    {
        let turns = RunTurns()
        try await turns.begin()
        let tasks = (0..<2).map { _ in Task { try await turns.begin() } }
        await until { turns.waiting.count == 2 }
        tasks[0].cancel()
        await expectError(.cancelled) { try await tasks[0].value }
        #expect(turns.waiting.count == 1)
        turns.end()
        try await tasks[1].value
        #expect(turns.waiting.isEmpty)
    }
}
