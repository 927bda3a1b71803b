#if DistributedTracingSupport
    import BLESimulation
    import BLETestSupport
    import InMemoryTracing
    import Testing
    import Tracing

    @testable import BLE

    @Suite(.hangLimit) struct TracingTests {
        private let tracer = InMemoryTracer()
        private let bench: Bench
        private var strap: Peripheral { bench.strap }

        init() async throws {
            bench = try await Bench()
            await bench.backend.set([90], of: 2)
        }

        private func spans(_ name: String) -> [FinishedInMemorySpan] {
            tracer.finishedSpans.filter { $0.operationName == name }
        }

        private func errorType(_ span: FinishedInMemorySpan?) -> String? {
            if case .string(let type)? = span?.attributes.get("error.type") { type } else { nil }
        }

        @Test func `each operation of a call is a child of the caller's span`() async throws {
            try await withTracer(tracer) {
                try await withSpan("request") { _ in
                    _ = try await strap.read(Bench.level)
                    try await strap.write([1], to: Bench.command)
                    _ = try await strap.notifications(Bench.level)
                    try await strap.pair()
                }
            }
            let request = try #require(spans("request").first)
            for name in ["connect", "discover", "read", "write", "subscribe", "pair"] {
                #expect(spans(name).map(\.parentSpanID) == [request.spanID], "\(name)")
                #expect(spans(name).first?.traceID == request.traceID)
                #expect(spans(name).first?.kind == .client)
                #expect(spans(name).first?.attributes.get("ble.peer") == "strap")
                #expect(spans(name).first?.status == nil)
                #expect(errorType(spans(name).first) == nil)
            }
            #expect(spans("read").first?.attributes.get("ble.characteristic") == "2a19")
        }

        @Test func `the span of an operation that fails has the code of its error`() async throws {
            await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
            await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
            await withTracer(tracer) {
                await expectError(.connectionFailed) { try await strap.connect() }
                await expectError(.notPermitted) { try await strap.read(Bench.level) }
            }
            #expect(spans("connect").map(errorType) == ["connectionFailed", nil])
            #expect(errorType(spans("read").first) == "notPermitted")
            #expect(spans("read").first?.status?.code == .error)
        }

        @Test(arguments: [BLEError.Code.cancelled, .timedOut, .shutDown])
        func `a span ends once, however its operation does`(_ code: BLEError.Code) async throws {
            try await strap.connect()
            await bench.backend.script(.read, .ignore)
            let sleeping = bench.clock.sleeperCount
            let reading = withTracer(tracer) { Task { [strap] in try await strap.read(Bench.level) } }
            await bench.backend.asked(.read)
            await bench.clock.sleepers(sleeping + 1)
            #expect(tracer.activeSpans.count == 1)
            switch code {
            case .cancelled: reading.cancel()
            case .timedOut: bench.clock.advance(by: .seconds(30))
            default: await bench.central.shutDown()
            }
            await expectError(code) { try await reading.value }
            #expect(tracer.activeSpans.isEmpty)
            await bench.backend.release(.read)
            await bench.settle()
            #expect(spans("read").map(errorType) == [code.rawValue])
            // A caller that gives up is not an error of the operation.
            #expect((spans("read").first?.status?.code == .error) == (code != .cancelled))
        }

        @Test func `a task that is cancelled while it connects leaves no span open`() async throws {
            await bench.backend.script(.connect, .ignore)
            let connecting = withTracer(tracer) { Task { [strap] in try await strap.connect() } }
            await bench.backend.asked(.connect)
            connecting.cancel()
            await expectError(.cancelled) { try await connecting.value }
            #expect(tracer.activeSpans.isEmpty)
            #expect(spans("connect").map(errorType) == ["cancelled"])
            await bench.backend.release(.connect)
        }

        @Test func `attempts that follow the one of a call are no part of its trace`() async throws {
            let (clock, backend) = (ManualClock(), ScriptedBackend())
            var configuration = Central.Configuration.quiet(clock: clock)
            let pause = Duration.seconds(7)
            configuration.connectionPolicy = .maintained(backoff: Backoff(initial: pause, factor: 1, maximum: pause))
            let central = try await Central(backend: backend, configuration: configuration)
            let strap = central.peripheral(strap.id)
            await backend.script(.discoverServices, .fail(Bench.error(.serviceDiscoveryFailed)))
            let connecting = withTracer(tracer) {
                Task { try await withSpan("request") { _ in try await strap.connect() } }
            }
            await clock.sleepers(1, for: pause)
            connecting.cancel()
            await expectError(.cancelled) { try await connecting.value }
            let request = try #require(spans("request").first)
            #expect(spans("connect").map(\.parentSpanID) == [request.spanID])
            #expect(spans("discover").map(\.parentSpanID) == [request.spanID])
            clock.advance(by: pause)
            await until { await strap.connectionState == .connected }
            // The next attempt does not even have the tracer of the call.
            #expect(spans("discover").count == 1)
            #expect(spans("reconnect").map(\.parentSpanID) == [nil])
            #expect(await central.statistics[.discover].count == 2)
            await central.shutDown()
        }

        @Test func `the requests to a host are spans of a server`() async throws {
            let backend = ServingBackend(distinguishesSubscribers: true)
            let host = try await PeripheralHost(backend: backend, configuration: .quiet())
            let definition = PeripheralDefinition(
                advertisement: Advertisement(localName: "Traced"),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFFE0),
                        characteristics: [CharacteristicDefinition(BluetoothUUID(0xFFE1), .write, value: [7])])
                ])
            let phone = DeviceID(rawValue: "C0:00:00:00:00:01")
            try await host.withServed(definition) { _ in
                try await withTracer(tracer) {
                    try await backend.write([1], AttributeRequest(central: phone))
                }
            }
            await host.shutDown()
            let span = try #require(spans("write").first)
            #expect(span.kind == .server)
            #expect(span.attributes.get("ble.characteristic") == "ffe1")
            #expect(span.attributes.get("ble.peer") == .string(phone.rawValue))
        }
    }
#endif
