import BLE
import BLESimulation
import BLETestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Signals of this process, so one test after the other. `DaemonTests` and `RunTests` have programs.
@Suite(.hangLimit, .serialized) struct UntilSignalTests {
    private struct Stop: Error {}

    /// The process, which is that of all tests, does not exit when it is too busy to end `body` in time.
    private func untilTerminated(
        _ body: @escaping @concurrent @Sendable () async throws -> Void
    ) async throws -> ProgramSignal? { try await untilSignal([.terminate], grace: 86_400, body) }

    @Test func `a signal ends the work, its links, and what it serves`() async throws {
        let radio = SimulatedRadio()
        let strap = await radio.add(.heartRateStrap())
        let signal = try await untilTerminated {
            try await withBluetooth(
                centralBackend: .simulated(radio), hostBackend: .simulated(radio), central: .quiet(), host: .quiet()
            ) { central, host in
                try await central.find(strap.id).connect()
                #expect(await strap.isConnected)
                #expect(kill(getpid(), SIGTERM) == 0)
                try await host.serve(.battery())
            }
        }
        #expect(signal == .terminate)
        #expect(await !strap.isConnected)
    }

    @Test func `work that ends by itself, fails or is cancelled has no signal`() async throws {
        #expect(try await untilTerminated {} == nil)
        await #expect(throws: Stop.self) { try await untilTerminated { throw Stop() } }
        await #expect(throws: CancellationError.self) {
            try await untilTerminated { throw CancellationError() }
        }
        let work = Task {
            try await untilTerminated { try await ContinuousClock().sleep(for: .seconds(86_400)) }
        }
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(await runProgram(until: []) {} == nil)
    }

    @Test func `of two watches, each learns of a signal, and one goes on when the other has ended`() async throws {
        let signal = try await untilTerminated {
            #expect(try await untilTerminated {} == nil)
            let inner = try await untilTerminated {
                #expect(kill(getpid(), SIGTERM) == 0)
                try await ContinuousClock().sleep(for: .seconds(86_400))
            }
            #expect(inner == .terminate)
        }
        #expect(signal == .terminate)
    }

    @Test func `an error that is no cancellation is thrown after a signal, too`() async throws {
        await #expect(throws: Stop.self) {
            try await untilTerminated {
                #expect(kill(getpid(), SIGTERM) == 0)
                try? await ContinuousClock().sleep(for: .seconds(86_400))
                throw Stop()
            }
        }
    }
}
