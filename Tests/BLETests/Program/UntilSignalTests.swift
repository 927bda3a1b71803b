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

    @Test func `a signal ends the work, its links, and what it serves`() async throws {
        let radio = SimulatedRadio()
        let strap = await radio.add(.heartRateStrap())
        let signal = try await untilSignal([.terminate]) {
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
        #expect(try await untilSignal([.terminate]) {} == nil)
        await #expect(throws: Stop.self) { try await untilSignal([.terminate]) { throw Stop() } }
        await #expect(throws: CancellationError.self) {
            try await untilSignal([.terminate]) { throw CancellationError() }
        }
        let work = Task {
            try await untilSignal([.terminate]) { try await ContinuousClock().sleep(for: .seconds(86_400)) }
        }
        work.cancel()
        await #expect(throws: CancellationError.self) { try await work.value }
        #expect(await runProgram(until: []) {} == nil)
    }

    @Test func `of two watches, each learns of a signal, and one goes on when the other has ended`() async throws {
        let signal = try await untilSignal([.terminate]) {
            #expect(try await untilSignal([.terminate]) {} == nil)
            let inner = try await untilSignal([.terminate]) {
                #expect(kill(getpid(), SIGTERM) == 0)
                try await ContinuousClock().sleep(for: .seconds(86_400))
            }
            #expect(inner == .terminate)
        }
        #expect(signal == .terminate)
    }

    @Test func `an error that is no cancellation is thrown after a signal, too`() async throws {
        await #expect(throws: Stop.self) {
            try await untilSignal([.terminate]) {
                #expect(kill(getpid(), SIGTERM) == 0)
                try? await ContinuousClock().sleep(for: .seconds(86_400))
                throw Stop()
            }
        }
    }
}
