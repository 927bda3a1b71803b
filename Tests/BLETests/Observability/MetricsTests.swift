#if MetricsSupport
    import BLESimulation
    import BLETestSupport
    import CoreMetrics
    import MetricsTestKit
    import Testing

    @testable import BLE

    @Suite(.hangLimit) struct MetricsTests {
        private let metrics = TestMetrics()

        private func bench() async throws -> Bench { try await withMetricsFactory(metrics) { try await Bench() } }

        private func total(_ name: String, _ dimensions: [(String, String)] = []) -> Int {
            Int(metrics.counterTotal(label: "ble.central.\(name)", dimensions: dimensions))
        }

        private func durations(_ kind: OperationKind, _ error: String = "none") throws -> [Int64] {
            try metrics.expectTimer(
                "ble.central.operation.duration", [("operation", kind.rawValue), ("error", error)]
            ).values
        }

        /// All values of dimensions.
        private var values: [String] {
            (metrics.counters.map(\.dimensions) + metrics.timers.map(\.dimensions)).flatMap { $0.map(\.1) }
        }

        @Test func `operations are timed on the clock of the central`() async throws {
            let bench = try await bench()
            await bench.backend.script(.connect, .hold)
            let connecting = Task { try await bench.strap.connect() }
            await bench.backend.asked(.connect)
            bench.clock.advance(by: .milliseconds(1500))
            await bench.backend.release(.connect)
            try await connecting.value
            await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
            await expectError(.notPermitted) { try await bench.strap.read(Bench.level) }
            #expect(try durations(.connect) == [1_500_000_000])
            #expect(try durations(.discover) == [0])
            #expect(try durations(.read, "notPermitted") == [0])
            #expect(metrics.timers.count == 3)
        }

        @Test func `metrics and statistics agree, and no label has an address or a type of a characteristic`()
            async throws
        {
            let bench = try await bench()
            var states = await bench.strap.connectionStates().makeAsyncIterator()
            try await bench.maintain()
            while try await states.next() != .connected {}
            await bench.backend.emit(
                .linkEnded(bench.strap.id, BLEError(.disconnected, "scripted", disconnectReason: .timeout)),
                .advertisementReceived(bench.strap.id, Advertisement(localName: "strap")))
            while try await states.next() != .connected {}
            let stream = try await bench.strap.notifications(Bench.level, overflow: .dropOldest(capacity: 1))
            for level in UInt8(1)...4 { await bench.backend.notify([level], from: 2) }
            #expect(stream.droppedCount == 3)
            await bench.backend.emit(.stackLost(Bench.error(.bluetoothLost)))
            await bench.central.shutDown()

            let statistics = await bench.central.statistics
            #expect(total("advertisements") == statistics.advertisementCount)
            #expect(total("links") == statistics.linkCount)
            #expect(total("links") == 2)
            for (reason, count) in statistics.linkEndCounts {
                #expect(total("links.ended", [("reason", reason.rawValue)]) == count)
            }
            #expect(total("links.ended") == 2)
            #expect(total("reconnects", [("reason", "timeout")]) == 1)
            // The loss of Bluetooth puts a gap in the place of another value.
            #expect(total("values.dropped") == 4)
            #expect(total("values.dropped") == statistics.droppedValueCount)
            #expect(total("bluetooth.losses") == 1)
            for kind in OperationKind.allCases {
                let timers = metrics.timers(
                    label: "ble.central.operation.duration", dimensions: [("operation", kind.rawValue)])
                #expect(timers.map(\.values.count).reduce(0, +) == statistics[kind].count, "\(kind)")
            }
            let id = bench.strap.id.rawValue
            #expect(!values.contains { $0.contains(id) || $0.contains("2a19") })
        }

        @Test func `two centrals of a process add to the same counters, and links that are up are the difference`()
            async throws
        {
            let benches = [try await bench(), try await bench()]
            for bench in benches { try await bench.strap.connect() }
            #expect(total("links") == 2)
            await benches[0].central.shutDown()
            #expect(total("links") - total("links.ended") == 1)
            #expect(metrics.counters(label: "ble.central.links").count == 1)
        }

        @Test func `the links of a central that is released have ended`() async throws {
            do {
                let bench = try await bench()
                try await bench.strap.connect()
            }
            await until { total("links.ended", [("reason", "local")]) == 1 }
        }

        @Test func `an attempt of a central that is released has ended`() async throws {
            let backend = ScriptedBackend()
            do {
                let clock = ManualClock()
                let central = try await withMetricsFactory(metrics) {
                    try await Central(backend: backend, configuration: .quiet(clock: clock))
                }
                // It waits for Bluetooth, without a time limit.
                await backend.emit(.adapterStateChanged(.resetting))
                let strap = central.peripheral(Peripheral.ID(rawValue: "strap"))
                var events = await strap.connectionEvents().makeAsyncIterator()
                try await strap.setConnectionPolicy(.maintained())
                while case .connecting? = try await events.next() {}
                #expect(metrics.timers.isEmpty)
            }
            await until { (try? durations(.reconnect, "shutDown").count) == 1 }
        }

        @Test func `a backend with endless codes does not make the labels grow`() async throws {
            let bench = try await bench()
            try await bench.strap.connect()
            for number in 0..<200 {
                await bench.backend.script(.read, .fail(BLEError(BLEError.Code("code\(number)"), "scripted")))
                _ = try? await bench.strap.read(Bench.level)
                let reason = DisconnectReason(rawValue: "reason \(number)")
                await bench.backend.emit(
                    .linkEnded(bench.strap.id, BLEError(.disconnected, "scripted", disconnectReason: reason)))
                try await bench.strap.connect()
            }
            #expect(metrics.timers(label: "ble.central.operation.duration").count < 64 + 4)
            #expect(try durations(.read, "other").count > 100)
            #expect(metrics.counters(label: "ble.central.links.ended").count == 65)
            #expect(total("links.ended") == 200)
        }

        @Test func `without a collector of metrics, nothing observes`() async throws {
            #expect(MetricsObserver(.central) == nil)
            #expect(withMetricsFactory(metrics) { MetricsObserver(.central) } != nil)
        }

        @Test func `the requests to a host are timed`() async throws {
            let radio = SimulatedRadio()
            let host = try await withMetricsFactory(metrics) {
                try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
            }
            let uuid = BluetoothUUID(0xFFE1)
            let definition = PeripheralDefinition(
                advertisement: Advertisement(localName: "Timed"),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFFE0), characteristics: [CharacteristicDefinition(uuid, .read, value: [7])])
                ])
            try await host.withServed(definition) { _ in
                let phone = try await Central(backend: .simulated(radio), configuration: .quiet())
                let peripheral = try await phone.first(matching: .name("Timed")).peripheral
                _ = try await peripheral.read(Characteristic<[UInt8]>(uuid))
                await phone.shutDown()
            }
            await host.shutDown()
            let timer = try metrics.expectTimer(
                "ble.host.operation.duration", [("operation", "read"), ("error", "none")])
            #expect(timer.values.count == 1)
            #expect(metrics.counterTotal(label: "ble.host.links") == 1)
            #expect(metrics.counterTotal(label: "ble.host.links.ended") == 1)
        }
    }
#endif
