import BLETestSupport
import BlueZTestSupport
import Testing

/// Waits beside a program that a test runs.
@Suite(.startsProcesses, .hangLimit) struct TestProgramTests {
    @Test func `a wait beside a program that has ended throws, with the errors of the program`() async throws {
        let program = TestProgram("bash", ["-c", "echo trouble >&2"])
        let failure = await #expect(throws: TestProgram.Failure.self) {
            try await program.run { running in try await running.until { false } }
        }
        #expect(failure?.reason is ProgramOutput.Ended)
        #expect(failure?.errors == "trouble\n")
    }

    @Test func `what holds once the program has ended is enough`() async throws {
        let result = try await TestProgram("true").run { running in
            try? await running.output.until("more")
            try await running.until { true }
        }
        #expect(result.status == 0)
    }
}
