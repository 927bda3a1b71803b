import Testing

@testable import BLECommand

/// The lines that answer a pairing prompt.
@Suite struct PromptStateTests {
    private func expect(
        _ actions: (drops: Bool, reads: Bool), drops: Bool, reads: Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(actions == (drops, reads), sourceLocation: sourceLocation)
    }

    private func expect(_ isAnswer: Bool, _ expected: Bool, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(isAnswer == expected, sourceLocation: sourceLocation)
    }

    @Test func `a line answers the prompt that is shown`() {
        var state = PromptState()
        expect(state.ask(), drops: false, reads: true)
        expect(state.receive("y"), true)
        expect(state.receive("y"), false)
        expect(state.ask(), drops: false, reads: true)
        expect(state.receive("n"), true)
    }

    @Test func `a line for a withdrawn prompt does not answer the next one`() {
        var state = PromptState()
        _ = state.ask()
        state.withdraw()
        #expect(state.wasWithdrawn)
        expect(state.receive("y"), false)
        // Lines that have arrived since are dropped, too.
        expect(state.ask(), drops: true, reads: true)
        #expect(!state.wasWithdrawn)
        expect(state.receive("n"), true)
    }

    @Test func `reading goes on when a prompt was withdrawn before there was a line`() {
        var state = PromptState()
        _ = state.ask()
        state.withdraw()
        expect(state.ask(), drops: true, reads: false)
        expect(state.receive("y"), true)
    }

    @Test func `a line that was read before the prompt does not answer it, and reading goes on`() {
        var state = PromptState()
        _ = state.ask()
        state.withdraw()
        _ = state.ask()
        expect(state.receive("y", isLate: true), false)
        #expect(state.isReading)
        expect(state.receive("n"), true)
        #expect(!state.isReading)
    }

    @Test func `the end of the input is remembered`() {
        var state = PromptState()
        _ = state.ask()
        expect(state.receive(nil), true)
        #expect(state.isAtEnd)
    }
}
