import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// What distance, losses, delays and scan responses make of advertisements.
@Suite(.hangLimit) struct SimulatedAirAdvertisementTests {
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

    @Test func `the strength follows from the distance`() async throws {
        let free = PathLoss()
        #expect([1, 2, 10, 100].map { free.strength(meters: $0) } == [-59, -65, -79, -99])
        #expect(PathLoss(strengthAtOneMeter: -50, exponent: 3).strength(meters: 10) == -80)
        #expect(free.strength(meters: 1e-9) == 20)
        #expect(free.strength(meters: 1e9) == -127)
        let world = try await SimulatedWorld()
        let gauge = await world.radio.add(Gauge.definition())
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
            let gauge = await world.radio.add(Gauge.definition())
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
            _ = await world.radio.add(Gauge.definition())
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
        let gauge = await world.radio.add(Gauge.definition())
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
        let gauge = await world.radio.add(Gauge.definition())
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
