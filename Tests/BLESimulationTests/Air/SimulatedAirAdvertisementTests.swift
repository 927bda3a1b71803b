import BLE
import BLEProfiles
import BLETestSupport
import Testing
import Waiting

@testable import BLESimulation

/// Distance, losses, delays and connection events.
@Suite(.hangLimit) struct SimulatedAirTests {
    private static let value = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let command = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private static func gauge(_ written: SharedValue<[[UInt8]]> = SharedValue([])) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Gauge", rssi: -40), advertisingInterval: .milliseconds(100),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFFE0),
                    characteristics: [
                        CharacteristicDefinition(value.key.characteristic, [.read, .write, .notify], value: [1]),
                        CharacteristicDefinition(
                            command.key.characteristic, .writeWithoutResponse,
                            onWrite: { (value, _) throws(ATTError) in written.change { $0.append(value) } }),
                    ])
            ])
    }

    /// Returns the moments, from now, at which a scan receives a peripheral's advertisements, and their strengths.
    private static func advertisements(
        for duration: Duration, _ world: SimulatedWorld, _ script: () async -> Void = {}
    ) async throws -> [(time: Duration, rssi: Int?)] {
        let heard = SharedValue<[(time: Duration, rssi: Int?)]>([])
        let start = world.clock.now
        await world.run {
            async let scan: Void = {
                for try await event in world.central.discoveryEvents(duplicates: true) {
                    let time = start.duration(to: world.clock.now)
                    switch event {
                    case .found(let found), .updated(let found):
                        heard.change { $0.append((time, found.advertisement.rssi)) }
                    default: break
                    }
                }
            }()
            await script()
            await world.clock.run(for: duration)
            await world.central.shutDown()
            try? await scan
        }
        return heard.value
    }

    // MARK: Advertisements

    @Test func `the strength follows from the distance`() async throws {
        let free = PathLoss()
        #expect([1, 2, 10, 100].map { free.strength(meters: $0) } == [-59, -65, -79, -99])
        #expect(PathLoss(strengthAtOneMeter: -50, exponent: 3).strength(meters: 10) == -80)
        #expect(free.strength(meters: 1e-9) == 20)
        #expect(free.strength(meters: 1e9) == -127)
        let world = try await SimulatedWorld()
        let gauge = await world.radio.add(Self.gauge())
        let heard = try await Self.advertisements(for: .seconds(4), world) {
            await gauge.play(meters: [(0, 1), (1.95, 10)], pathLoss: free)
        }
        #expect(Set(heard.filter { $0.time < .milliseconds(1950) }.map(\.rssi)) == [-59])
        #expect(Set(heard.filter { $0.time >= .milliseconds(1950) }.map(\.rssi)) == [-79])
        #expect(heard.contains { $0.rssi == -79 })
    }

    @Test func `lost advertisements are missed, the same ones with the same seed`() async throws {
        var all: [[Duration]] = []
        for seed in [7, 7, 8] as [UInt64] {
            let world = try await SimulatedWorld()
            let gauge = await world.radio.add(Self.gauge())
            await gauge.play(loss: [(0, 0.5), (4.95, 1), (9.95, 0)], seed: seed)
            all.append(try await Self.advertisements(for: .seconds(15), world).map(\.time))
        }
        #expect(all[0] == all[1])
        #expect(all[0] != all[2])
        #expect((10...40).contains(all[0].count { $0 < .seconds(5) }))
        #expect(all[0].count { (.seconds(5) ..< .seconds(10)).contains($0) } == 0)
        #expect(all[0].count { $0 >= .seconds(10) } >= 49)
    }

    @Test func `advertisements have the random delay that the specification requires, if a test asks for it`()
        async throws
    {
        func intervals(_ seed: UInt64?) async throws -> [Duration] {
            let world = try await SimulatedWorld()
            if let seed { await world.radio.setAdvertisingDelays(seed: seed) }
            _ = await world.radio.add(Self.gauge())
            let times = try await Self.advertisements(for: .seconds(5), world).map(\.time)
            return zip(times, times.dropFirst()).map { $1 - $0 }
        }
        #expect(try await Set(intervals(nil)) == [.milliseconds(100)])
        let delayed = try await intervals(3)
        #expect(delayed.allSatisfy { (.milliseconds(100) ... .milliseconds(110)).contains($0) })
        #expect(Set(delayed).count > 5)
        #expect(try await intervals(3) == delayed)
        #expect(try await intervals(4) != delayed)
    }

    @Test func `only an active scan receives the scan response, and its adapter keeps it`() async throws {
        let world = try await SimulatedWorld()
        let gauge = await world.radio.add(Self.gauge())
        await gauge.setScanResponse(
            Advertisement(localName: "Gauge of the house", manufacturerData: [0xFFFF: [1, 2]]))
        func first(_ isPassive: Bool) async throws -> Advertisement {
            let central = try await Central(
                backend: .simulated(world.radio), configuration: .quiet(clock: world.clock))
            var advertisement = Advertisement()
            for try await found in central.discoveries(matching: isPassive ? .passive : .any) {
                advertisement = found.advertisement
                break
            }
            await central.shutDown()
            return advertisement
        }
        let passive = try await first(true)
        #expect(passive.localName == "Gauge")
        #expect(passive.manufacturerData == [:])
        let active = try await first(false)
        #expect(active.localName == "Gauge of the house")
        #expect(active.manufacturerData == [0xFFFF: [1, 2]])
        #expect(active.rssi == -40)
        #expect(try await first(true) == active)
        await world.central.shutDown()
    }

    @Test func `an adapter keeps the scan response that it has received, not one that it has not`() async throws {
        let world = try await SimulatedWorld()
        let gauge = await world.radio.add(Self.gauge())
        func name(_ criteria: DiscoveryCriteria) async throws -> String? {
            let central = try await Central(
                backend: .simulated(world.radio), configuration: .quiet(clock: world.clock))
            var name: String?
            for try await found in central.discoveries(matching: criteria) {
                name = found.advertisement.localName
                break
            }
            await central.shutDown()
            return name
        }
        await gauge.setScanResponse(Advertisement(localName: "One"))
        #expect(try await name(.any) == "One")
        await gauge.setScanResponse(nil)
        #expect(try await name(.passive) == "One")
        await gauge.setScanResponse(Advertisement(localName: "Two"))
        #expect(try await name(.passive) == "One")
        #expect(try await name(.any) == "Two")
        #expect(try await name(.passive) == "Two")
        await world.central.shutDown()
    }

    @Test func `a script ends the former one of its kind`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Self.gauge())
        try await peripheral.connect()
        await gauge.play([(0, -50), (2, -70), (4, -80)])
        await gauge.play(loss: [(3, 1), (30, 0)], seed: 1)
        await world.clock.run(for: .seconds(1))
        await gauge.play(meters: [(0, 1), (4, 2)])
        await gauge.play(loss: [(0, 0)], seed: 1)
        await world.clock.run(for: .milliseconds(3500))
        #expect(try await peripheral.signalStrength() == -59)
        await world.clock.run(for: .seconds(1))
        #expect(try await peripheral.signalStrength() == -65)
        #expect(await gauge.isConnected)
        await world.central.shutDown()
    }

    @Test func `the steps of a script happen in the order of their times`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Self.gauge())
        try await peripheral.connect()
        await gauge.play([(2, -70), (1, -60), (0, -50), (-5, -40)])
        var strengths: [Int] = []
        for _ in 1...3 {
            strengths.append(try await peripheral.signalStrength())
            await world.clock.run(for: .seconds(1))
        }
        #expect(strengths == [-50, -60, -70])
        await world.central.shutDown()
    }

    // MARK: Links

    @Test func `values, requests and answers cross at connection events`() async throws {
        let world = try await SimulatedWorld()
        let written = SharedValue<[[UInt8]]>([])
        let (peripheral, gauge) = try await world.add(Self.gauge(written))
        _ = try await peripheral.read(Self.value)
        await gauge.setConnectionInterval(.milliseconds(30), supervisionTimeout: .seconds(1))
        let clock = world.clock
        let start = clock.now
        let times = SharedValue<[Duration]>([])
        await world.run {
            async let reads: Void = {
                for _ in 1...2 {
                    _ = try await peripheral.read(Self.value)
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
        try await peripheral.write([5], to: Self.command, type: .withoutResponse)
        #expect(clock.now == call)
        #expect(written.value == [])
        await clock.run(for: .milliseconds(30))
        #expect(written.value == [[5]])
        await world.central.shutDown()
    }

    @Test func `values that wait for an event arrive at it together, in their order`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Self.gauge())
        let log = NotificationLog()
        try await world.run {
            let stream = try await peripheral.notifications(Self.value)
            async let reading: Void = log.record(stream.events)
            await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
            for number in 1...3 as ClosedRange<UInt8> {
                await gauge.notify([number], from: Self.value.key.characteristic)
            }
            #expect(log.values == [])
            await world.clock.run(for: .milliseconds(50))
            #expect(log.values == [[1], [2], [3]])
            await gauge.notify([4], from: Self.value.key.characteristic)
            await gauge.setConnectionInterval(nil)
            await gauge.notify([5], from: Self.value.key.characteristic)
            await world.clock.run(for: .zero)
            #expect(log.values == [[1], [2], [3], [4], [5]])
            await world.central.shutDown()
            try? await reading
        }
    }

    @Test func `values arrive later while packets are lost, and none is missing`() async throws {
        func arrivals(_ seed: UInt64) async throws -> [Duration] {
            let world = try await SimulatedWorld()
            let (peripheral, gauge) = try await world.add(Self.gauge())
            let clock = world.clock
            let times = SharedValue<[Duration]>([])
            try await world.run {
                let stream = try await peripheral.notifications(Self.value)
                async let reading: Void = {
                    for try await _ in stream { times.change { $0.append(clock.now.offset) } }
                }()
                await gauge.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(10))
                await gauge.play(loss: [(0, 0.7)], seed: seed)
                for number in 1...40 as ClosedRange<UInt8> {
                    await gauge.notify([number], from: Self.value.key.characteristic)
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
        let (peripheral, gauge) = try await world.add(Self.gauge())
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
        let (peripheral, gauge) = try await world.add(Self.gauge())
        _ = try await peripheral.read(Self.value)
        await gauge.play(loss: [(0, 1)], seed: 1)
        let code = SharedValue<BLEError.Code?>(nil)
        await world.run {
            async let read: Void = {
                do throws(BLEError) {
                    _ = try await peripheral.read(Self.value)
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
        let (peripheral, gauge) = try await world.add(Self.gauge(written))
        let log = NotificationLog()
        try await world.run {
            let stream = try await peripheral.notifications(Self.value)
            async let reading: Void = log.record(stream.events)
            await gauge.play(loss: [(0, 0.1)], seed: 3)
            try await peripheral.write([1], to: Self.command, type: .withoutResponse)
            await gauge.notify([1], from: Self.value.key.characteristic)
            await gauge.play(loss: [(0, 0)], seed: 3)
            try await peripheral.write([2], to: Self.command, type: .withoutResponse)
            await gauge.notify([2], from: Self.value.key.characteristic)
            await world.clock.run(for: .seconds(1))
            #expect(written.value == [[1], [2]])
            #expect(log.values == [[1], [2]])
            // Nothing waits for events any longer.
            try await peripheral.write([3], to: Self.command, type: .withoutResponse)
            await world.clock.run(for: .zero)
            #expect(written.value == [[1], [2], [3]])
            await world.central.shutDown()
            try? await reading
        }
    }

    @Test func `each link loses packets of its own, and the same ones with the same seed`() async throws {
        func times(_ seed: UInt64) async throws -> [[Duration]] {
            let world = try await SimulatedWorld()
            let (peripheral, gauge) = try await world.add(Self.gauge())
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
                            _ = try await peripheral.read(Self.value)
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
        let (peripheral, gauge) = try await world.add(Self.gauge())
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

/// Scripts that a program may not play.
@Suite(.startsProcesses, .hangLimit) struct SimulatedScriptPreconditionTests {
    @Test func `a time that is none ends the program`() async {
        await #expect(processExitsWith: .failure) {
            let gauge = await SimulatedRadio(clock: ManualClock()).add(.battery())
            await gauge.play([(.nan, -50)])
        }
        await #expect(processExitsWith: .failure) {
            let gauge = await SimulatedRadio(clock: ManualClock()).add(.battery())
            await gauge.play(loss: [(.infinity, 0.5)], seed: 1)
        }
    }

    @Test func `an interval of no length is the shortest one`() async throws {
        let world = try await SimulatedWorld()
        var definition = PeripheralDefinition.battery()
        definition.advertisingInterval = .zero
        let (peripheral, _) = try await world.add(definition)
        await world.clock.run(for: .seconds(1))
        #expect(try await peripheral.read(.batteryLevel) == 90)
        await world.central.shutDown()
    }
}
