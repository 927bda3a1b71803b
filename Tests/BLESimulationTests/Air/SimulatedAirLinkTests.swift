import BLE
import BLETestSupport
import Testing
import Waiting

@testable import BLESimulation

/// Connection events and losses on links.
@Suite(.hangLimit) struct SimulatedAirLinkTests {
    @Test func `values, requests and answers cross at connection events`() async throws {
        let world = try await SimulatedWorld()
        let written = SharedValue<[[UInt8]]>([])
        let (peripheral, gauge) = try await world.add(Gauge.definition(written))
        _ = try await peripheral.read(Gauge.value)
        await gauge.setConnectionInterval(.milliseconds(30), supervisionTimeout: .seconds(1))
        let clock = world.clock
        let start = clock.now
        let times = SharedValue<[Duration]>([])
        await world.run {
            async let reads: Void = {
                for _ in 1...2 {
                    _ = try await peripheral.read(Gauge.value)
                    times.change { $0.append(start.duration(to: clock.now)) }
                }
            }()
            await clock.run(for: .seconds(1))
            try? await reads
        }
        // A request goes at one event, and its answer at the next.
        let first = Duration.milliseconds(30) - .milliseconds(Int(start.offset / .milliseconds(1)) % 30)
        #expect(times.value == [first + .milliseconds(30), first + .milliseconds(90)])
        // A command crosses later, and its caller does not wait.
        let call = clock.now
        try await peripheral.write([5], to: Gauge.command, type: .withoutResponse)
        #expect(clock.now == call)
        #expect(written.value == [])
        await clock.run(for: .milliseconds(30))
        #expect(written.value == [[5]])
        await world.central.shutDown()
    }

    @Test func `values that wait for an event arrive at it together, in their order`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        let log = NotificationLog()
        try await world.run {
            let stream = try await peripheral.notifications(Gauge.value)
            async let reading: Void = log.record(stream.events)
            await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
            for number in 1...3 as ClosedRange<UInt8> {
                await gauge.notify([number], from: Gauge.value.key.characteristic)
            }
            #expect(log.values == [])
            await world.clock.run(for: .milliseconds(50))
            #expect(log.values == [[1], [2], [3]])
            await gauge.notify([4], from: Gauge.value.key.characteristic)
            await gauge.setConnectionInterval(nil)
            await gauge.notify([5], from: Gauge.value.key.characteristic)
            await world.clock.run(for: .zero)
            #expect(log.values == [[1], [2], [3], [4], [5]])
            await world.central.shutDown()
            try? await reading
        }
    }

    @Test func `values arrive later while packets are lost, and none is missing`() async throws {
        func arrivals(_ seed: UInt64) async throws -> [Duration] {
            let world = try await SimulatedWorld()
            let (peripheral, gauge) = try await world.add(Gauge.definition())
            let clock = world.clock
            let times = SharedValue<[Duration]>([])
            try await world.run {
                let stream = try await peripheral.notifications(Gauge.value)
                async let reading: Void = {
                    for try await _ in stream { times.change { $0.append(clock.now.offset) } }
                }()
                await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(10))
                await gauge.play(loss: [(0, 0.7)], seed: seed)
                for number in 1...40 as ClosedRange<UInt8> {
                    await gauge.notify([number], from: Gauge.value.key.characteristic)
                    await clock.run(for: .milliseconds(100))
                }
                await clock.run(for: .seconds(5))
                #expect(await gauge.isConnected)
                await world.central.shutDown()
                try? await reading
            }
            return times.value
        }
        let arrived = try await arrivals(1)
        #expect(arrived.count == 40)
        #expect(zip(arrived, arrived.dropFirst()).contains { $1 - $0 > .milliseconds(200) })
        #expect(try await arrivals(1) == arrived)
        #expect(try await arrivals(2) != arrived)
    }

    @Test func `a link is lost when nothing arrives for the supervision timeout, and is made when something does`()
        async throws
    {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        try await peripheral.setConnectionPolicy(.maintained())
        await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(2))
        await world.clock.run(for: .seconds(1))
        #expect(await gauge.isConnected)
        await gauge.play(loss: [(3, 1), (60, 0)], seed: 1)
        await world.clock.run(for: .milliseconds(4900))
        #expect(await gauge.isConnected)
        await world.clock.run(for: .milliseconds(200))
        #expect(await gauge.isConnected == false)
        await world.clock.run(for: .seconds(50))
        #expect(await gauge.isConnected == false)
        await world.clock.run(for: .seconds(60))
        #expect(await gauge.isConnected)
        await world.central.shutDown()
    }

    @Test func `a request that waits for an event fails with the link`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        _ = try await peripheral.read(Gauge.value)
        await gauge.play(loss: [(0, 1)], seed: 1)
        let code = SharedValue<BLEError.Code?>(nil)
        await world.run {
            async let read: Void = {
                do throws(BLEError) {
                    _ = try await peripheral.read(Gauge.value)
                } catch {
                    code.change { [error] in $0 = error.code }
                }
            }()
            await world.clock.run(for: .seconds(1))
            await world.central.shutDown()
            await read
        }
        #expect(code.value == .disconnected)
        #expect(await gauge.isConnected == false)
    }

    @Test func `what is sent when packets are no longer lost does not overtake what waits`() async throws {
        let written = SharedValue<[[UInt8]]>([])
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition(written))
        let log = NotificationLog()
        try await world.run {
            let stream = try await peripheral.notifications(Gauge.value)
            async let reading: Void = log.record(stream.events)
            await gauge.play(loss: [(0, 0.1)], seed: 3)
            try await peripheral.write([1], to: Gauge.command, type: .withoutResponse)
            await gauge.notify([1], from: Gauge.value.key.characteristic)
            await gauge.play(loss: [(0, 0)], seed: 3)
            try await peripheral.write([2], to: Gauge.command, type: .withoutResponse)
            await gauge.notify([2], from: Gauge.value.key.characteristic)
            await world.clock.run(for: .seconds(1))
            #expect(written.value == [[1], [2]])
            #expect(log.values == [[1], [2]])
            // Nothing waits for events any longer.
            try await peripheral.write([3], to: Gauge.command, type: .withoutResponse)
            await world.clock.run(for: .zero)
            #expect(written.value == [[1], [2], [3]])
            await world.central.shutDown()
            try? await reading
        }
    }

    @Test func `each link loses packets of its own, and the same ones with the same seed`() async throws {
        func times(_ seed: UInt64) async throws -> [[Duration]] {
            let world = try await SimulatedWorld()
            let (peripheral, gauge) = try await world.add(Gauge.definition())
            await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(30))
            await gauge.play(loss: [(0, 0.5)], seed: seed)
            let clock = world.clock
            return await world.run {
                let all = SharedValue<[[Duration]]>([])
                async let reads: Void = {
                    for _ in 1...2 {
                        // Each link begins at the same distance from its first event.
                        let past = clock.now.offset.components.attoseconds
                        try await clock.sleep(
                            for: .seconds(1) - Duration(secondsComponent: 0, attosecondsComponent: past))
                        try await peripheral.connect()
                        var own: [Duration] = []
                        for _ in 1...20 {
                            let start = clock.now
                            _ = try await peripheral.read(Gauge.value)
                            own.append(start.duration(to: clock.now))
                        }
                        all.change { [own] in $0.append(own) }
                        try await peripheral.disconnect()
                    }
                }()
                await clock.run(for: .seconds(60))
                await world.central.shutDown()
                try? await reads
                return all.value
            }
        }
        let all = try await times(1)
        #expect(all.count == 2)
        #expect(all.first != all.last)
        #expect(try await times(1) == all)
    }

    @Test func `what is sent over a link that has ended fails`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
        await world.run {
            async let connection: Void = peripheral.connect()
            await world.clock.run(for: .seconds(1))
            try? await connection
        }
        let code = await world.radio.sendOverEndedLink(to: gauge)
        #expect(code == .disconnected)
        await world.central.shutDown()
    }
}

extension SimulatedRadio {
    /// Returns the error of what is sent over a link that has just ended.
    fileprivate func sendOverEndedLink(to peripheral: SimulatedPeripheral) async -> BLEError.Code? {
        guard let device = peripherals[peripheral.id], let link = device.links.values.first?.shared else { return nil }
        endLinks(device, Self.linkLost)
        do throws(BLEError) {
            try await crossing(device, link)?.wait()
            return nil
        } catch {
            return error.code
        }
    }
}
