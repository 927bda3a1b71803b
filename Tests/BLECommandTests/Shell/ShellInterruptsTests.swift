import BLETestSupport
import Testing

@testable import BLECommand

@Suite struct ShellInterruptStateTests {
    private var interrupts = ShellInterruptState()

    @Test mutating func `while the shell starts and ends, a signal is for the shell`() {
        #expect(interrupts.receive() == .leave)
        // The link that the command line names is a part of the start.
        let isInterrupted = interrupts.begin(.command)
        #expect(!isInterrupted)
        #expect(interrupts.receive() == .leave)
        interrupts.open()
        interrupts.close()
        #expect(interrupts.receive() == .leave)
    }

    @Test mutating func `a signal ends the command that runs, and a second one the process`() {
        interrupts.open()
        let isInterrupted = interrupts.begin(.command)
        #expect(!isInterrupted)
        #expect(interrupts.receive() == .cancel)
        #expect(interrupts.receive() == .exit)
        let wasInterrupted = interrupts.end()
        #expect(wasInterrupted)
        let isAgain = interrupts.begin(.command)
        #expect(!isAgain)
    }

    @Test mutating func `a signal before a command has begun is for that command`() {
        interrupts.open()
        #expect(interrupts.receive() == .none)
        let isInterrupted = interrupts.begin(.command)
        #expect(isInterrupted)
        #expect(interrupts.receive() == .exit)
    }

    @Test mutating func `a signal before a prompt is not for the line after it, and several give up one line`() {
        interrupts.open()
        #expect(interrupts.receive() == .none)
        let isInterrupted = interrupts.begin(.line)
        #expect(!isInterrupted)
        #expect(interrupts.receive() == .cancel)
        #expect(interrupts.receive() == .none)
        let wasInterrupted = interrupts.end()
        #expect(wasInterrupted)
    }
}

@Suite(.hangLimit) struct ShellInterruptsTests {
    @Test func `a signal cancels the work, and the next work runs`() async throws {
        let interrupts = ShellInterrupts()
        #expect(!interrupts.handle())
        interrupts.open()
        let (ended, isInterrupted) = await interrupts.during(.command) {
            #expect(interrupts.handle())
            try Task.checkCancellation()
        }
        #expect(isInterrupted)
        #expect(throws: CancellationError.self) { try ended.get() }
        let (next, isAgain) = await interrupts.during(.command) { 1 }
        #expect(!isAgain)
        #expect(try next.get() == 1)
    }
}
