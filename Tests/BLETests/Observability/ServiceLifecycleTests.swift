#if ServiceLifecycleSupport
    import BLESimulation
    import BLETestSupport
    import Logging
    import ServiceLifecycle
    import ServiceLifecycleTestKit
    import Testing

    @testable import BLE

    @Suite(.hangLimit) struct ServiceLifecycleTests {
        private let bench: Bench
        private var central: Central { bench.central }

        init() async throws { bench = try await Bench() }

        /// Expects that the central has been shut down, once.
        private func expectShutDown() async {
            await expectError(.shutDown) { try await central.adapters() }
            #expect(await bench.backend.count(.shutDown) == 1)
        }

        @Test func `a central runs until the graceful shutdown, and is shut down then`() async throws {
            try await bench.strap.connect()
            await testGracefulShutdown { trigger in
                let hasEnded = SharedValue(false)
                async let running: Void = {
                    await central.run()
                    hasEnded.change { $0 = true }
                }()
                await bench.settle()
                #expect(!hasEnded.value)
                #expect(await bench.strap.connectionState == .connected)
                trigger.triggerGracefulShutdown()
                await running
            }
            await expectShutDown()
        }

        @Test func `the graceful shutdown ends a connect that hangs`() async throws {
            await bench.backend.script(.connect, .ignore)
            await testGracefulShutdown { trigger in
                let connecting = Task { try await bench.strap.connect() }
                async let running: Void = central.run()
                await bench.backend.asked(.connect)
                trigger.triggerGracefulShutdown()
                await running
                await expectError(.shutDown) { try await connecting.value }
            }
            await expectShutDown()
            await bench.backend.release(.connect)
        }

        @Test func `a graceful shutdown before the start shuts down at once`() async throws {
            await testGracefulShutdown { trigger in
                trigger.triggerGracefulShutdown()
                await central.run()
            }
            await expectShutDown()
        }

        @Test func `a service that is cancelled, before or after it has started, shuts down`() async throws {
            let isOpen = SharedValue(false)
            let cancelled = Task {
                while !isOpen.value { await Task.yield() }
                await central.run()
            }
            cancelled.cancel()
            isOpen.change { $0 = true }
            await cancelled.value
            await expectShutDown()
            let other = try await Bench()
            let running = Task { await other.central.run() }
            await other.settle()
            running.cancel()
            await running.value
            await expectError(.shutDown) { try await other.central.adapters() }
        }

        @Test func `a service returns when its central or its host is shut down otherwise, and at once afterwards`()
            async throws
        {
            let host = try await PeripheralHost(
                backend: ServingBackend(distinguishesSubscribers: true), configuration: .quiet())
            async let both: (Void, Void) = (central.run(), host.run())
            await bench.settle()
            await central.shutDown()
            await host.shutDown()
            _ = await both
            await central.run()
            await host.run()
            await expectShutDown()
        }

        private struct Worker: Service {
            let work: @Sendable () async throws -> Void
            func run() async throws { try await work() }
        }

        @Test func `a group shuts a central and a host down after the service that uses them`() async throws {
            let radio = SimulatedRadio()
            let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
            let adapters = SharedValue<[Adapter]?>(nil)
            let worker = Worker { [central] in
                try? await gracefulShutdown()
                // They are used until the end.
                let found = try await central.adapters()
                adapters.change { $0 = found }
                #expect(await host.adapterState == .poweredOn)
            }
            let group = ServiceGroup(
                services: [central, host, worker], gracefulShutdownSignals: [],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let running = Task { try await group.run() }
            await bench.settle()
            await group.triggerGracefulShutdown()
            try await running.value
            #expect(adapters.value?.count == 1)
            await expectShutDown()
            await expectError(.shutDown) { try await host.serve(.lock()) }
        }

        @Test func `an error of another service ends a central, too`() async throws {
            struct Failure: Error {}
            let group = ServiceGroup(
                services: [central, Worker { throw Failure() }], gracefulShutdownSignals: [],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            await #expect(throws: Failure.self) { try await group.run() }
            await expectShutDown()
        }
    }
#endif
