import BLE
import BLESimulation
import BLETestSupport
import Testing

/// The trait, applied by hand to a body in a test whose own traits drop the body's issues.
@Suite(.hangLimit) struct FailureTraceTests {
    private struct Failure: Error {}

    /// Runs a body as a test with the trait, and returns what is printed.
    private func output(
        last limit: Int = 200, of body: @escaping @concurrent @Sendable () async throws -> Void
    ) async throws -> [String] {
        let printed = SharedValue<[String]>([])
        let trait: FailureTrace = .tracesFailures(last: limit) { text in printed.change { $0.append(text) } }
        let test = try #require(Test.current)
        do {
            try await trait.provideScope(for: test, testCase: Test.Case.current, performing: body)
        } catch is Failure {}
        return printed.value
    }

    @concurrent private static func drop(of world: SimulatedWorld) async throws {
        let (peripheral, strap) = try await world.add(.heartRateStrap(beatsPerMinute: 72))
        try await peripheral.connect()
        world.clock.advance(by: .seconds(2))
        await strap.dropLink()
        await world.central.shutDown()
    }

    @Test(.compactMapIssues { _ in nil }) func `a test that records an issue prints what its radio saw`() async throws {
        let output = try await output {
            try await Self.drop(of: SimulatedWorld())
            Issue.record("an expectation")
        }
        try #require(output.count == 1)
        let lines = output[0].split(separator: "\n")
        #expect(lines[0].contains("a test that records an issue prints what its radio saw"))
        #expect(lines.contains { $0.hasPrefix("    0.0 seconds simulated advertisement central=CE:") })
        #expect(lines.contains { $0.hasPrefix("    2.0 seconds simulated fault fault=dropLink peripheral=C0:") })
    }

    @Test func `a test that passes prints nothing`() async throws {
        #expect(try await output { try await Self.drop(of: SimulatedWorld()) } == [])
    }

    @Test func `an issue that is known is not a failure`() async throws {
        let output = try await output {
            _ = try await SimulatedWorld().radio.add(.battery())
            withKnownIssue { Issue.record("known") }
        }
        #expect(output == [])
    }

    @Test func `a test that throws prints the last messages`() async throws {
        let output = try await output(last: 3) {
            try await Self.drop(of: SimulatedWorld())
            throw Failure()
        }
        let lines = try #require(output.first).split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0].contains("the last 3 of "))
        #expect(lines.last?.contains("simulated link ended") == true)
    }

    @Test func `a test with messages of its own has them in the trace, too`() async throws {
        let log = LogRecords()
        let output = try await output {
            try await Self.drop(of: SimulatedWorld(log: log))
            throw Failure()
        }
        #expect(log.metadata(of: "simulated link made").count == 1)
        #expect(output.first?.contains("simulated link made") == true)
    }

    @Test func `a radio of the test's own is traced`() async throws {
        let output = try await output {
            let radio = SimulatedRadio(clock: ManualClock())
            await radio.setPowered(false)
            throw Failure()
        }
        #expect(output.first?.contains("simulated adapter adapter=hci0 state=poweredOff") == true)
    }

    @Test func `what was logged in one test is not in the trace of the next`() async throws {
        _ = try await output {
            try await Self.drop(of: SimulatedWorld())
            throw Failure()
        }
        let next = try await output { throw Failure() }
        #expect(next.first?.hasSuffix(", 0 messages:") == true)
    }
}
