import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Faults that disturb one of several centrals.
@Suite(.hangLimit) struct FaultOfOneCentralTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))

    private static func definition(
        _ name: String, _ properties: CharacteristicProperties = [.read, .write, .indicate]
    ) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0xFF00),
                    characteristics: [CharacteristicDefinition(level.uuid, properties, value: [7])])
            ])
    }

    /// A world with two adapters, and a central on each.
    private func withCentrals(_ check: (SimulatedWorld, [Central]) async throws -> Void) async throws {
        let world = try await SimulatedWorld()
        await world.radio.addAdapter("hci1")
        let centrals = [world.central, try await world.makeCentral(adapter: "hci1")]
        try await check(world, centrals)
        for central in centrals { await central.shutDown() }
    }

    /// Finds peripherals in one scan: time does not pass for another one.
    private func find(_ names: [String], _ central: Central) async throws -> [Peripheral] {
        var all: [String: Peripheral] = [:]
        for try await found in central.discoveries() {
            if let name = found.advertisement.localName { all[name] = found.peripheral }
            if names.allSatisfy({ all[$0] != nil }) { break }
        }
        return names.compactMap { all[$0] }
    }

    @Test func `requests of one central to one of two hosts are refused, and no others`() async throws {
        try await withCentrals { world, centrals in
            let hosts = [try await world.makeHost(), try await world.makeHost()]
            try await hosts[0].withServed(Self.definition("A")) { _ in
                try await hosts[1].withServed(Self.definition("B")) { _ in
                    let devices = await world.radio.hostedPeripherals
                    let refused = await devices[0].fail(
                        .request(for: Self.level).from(centrals[1]), .next(2), with: .insufficientResources)
                    let places = try await find(["A", "B"], centrals[0])
                    let others = try await find(["A", "B"], centrals[1])
                    for _ in 1...3 {
                        for remote in places { #expect(try await remote.read(Self.level) == 7) }
                        #expect(try await others[1].read(Self.level) == 7)
                    }
                    #expect(await refused.count == 0)
                    for _ in 1...2 {
                        let error = await expectError(.attributeError) { try await others[0].read(Self.level) }
                        #expect(error?.attError == .insufficientResources)
                        #expect(try await places[0].read(Self.level) == 7)
                    }
                    #expect(await refused.count == 2)
                    #expect(try await others[0].read(Self.level) == 7)
                }
            }
            for host in hosts { await host.shutDown() }
        }
    }

    @Test func `requests of one central to one of two peripherals are refused, and no others`() async throws {
        try await withCentrals { world, centrals in
            let devices = [
                await world.radio.add(Self.definition("A")), await world.radio.add(Self.definition("B")),
            ]
            let refused = await devices[0].fail(.read(of: Self.level).from(centrals[0]), with: .insufficientResources)
            let unlinked = await world.radio.fail(.connect.from(centrals[1]), .next(1))
            for (position, central) in centrals.enumerated() {
                for (name, remote) in zip(["A", "B"], try await find(["A", "B"], central)) {
                    if position == 1, name == "A" {
                        await expectError(.connectionFailed) { try await remote.connect(timeout: .seconds(60)) }
                    }
                    try await remote.connect()
                    if position == 0, name == "A" {
                        await expectError(.attributeError) { try await remote.read(Self.level) }
                    } else {
                        #expect(try await remote.read(Self.level) == 7)
                    }
                    try await remote.write(7, to: Self.level)
                    // A simulated peripheral has one link.
                    try await remote.disconnect()
                }
            }
            #expect(await refused.count == 1)
            #expect(await unlinked.count == 1)
        }
    }

    @Test func `values and confirmations of one central are disturbed, by its address`() async throws {
        try await withCentrals { world, centrals in
            let host = try await world.makeHost()
            try await host.withServed(Self.definition("A")) { served in
                var streams: [NotificationStream<UInt8>.AsyncIterator] = []
                for central in centrals {
                    streams.append(try await find(["A"], central)[0].notifications(Self.level).makeAsyncIterator())
                }
                let device = try #require(await world.radio.hostedPeripherals.first)
                let addresses = await device.subscribers(of: Self.level)
                #expect(addresses.count == 2)
                let lost = await device.ignore(.indicate.from(addresses[0]), .next(1))
                let held = await device.hold(.confirm.from(centrals[1]), .next(1))
                try await served.setValue(1, of: Self.level)
                try await served.setValue(2, of: Self.level)
                #expect(try await streams[0].next() == 2)
                #expect(try await streams[1].next() == 1)
                #expect(await lost.count == 1)
                #expect(await held.count == 1)
                await held.release()
                #expect(try await streams[1].next() == 2)
            }
            await host.shutDown()
        }
    }

    @Test func `the other central of an adapter is not disturbed, though both have one link`() async throws {
        let world = try await SimulatedWorld()
        let other = try await world.makeCentral()
        let device = await world.radio.add(Self.definition("A"))
        let refused = await device.fail(.write.from(other), with: .insufficientResources)
        let scans = await world.radio.fail(.scan.from(other), .nth(2))
        let (own, theirs) = (try await find(["A"], world.central)[0], try await find(["A"], other)[0])
        for remote in [own, theirs] { try await remote.connect() }
        try await own.write(1, to: Self.level)
        await expectError(.attributeError) { try await theirs.write(2, to: Self.level) }
        #expect(try await own.read(Self.level) == 1)
        #expect(await refused.count == 1)
        #expect(await scans.count == 0)
        await other.shutDown()
        await world.central.shutDown()
    }

    @Test func `random faults of one central are the same with each run`() async throws {
        var counts: [Int] = []
        for _ in 1...2 {
            try await withCentrals { world, centrals in
                let device = await world.radio.add(Self.definition("A"))
                let event = SimulatedEvent.read.from(centrals[0])
                let faults = await device.disturb([event: 0.5], seed: 3)
                let remote = try await find(["A"], centrals[0])[0]
                await world.run {
                    for _ in 1...20 {
                        async let read = remote.read(Self.level, timeout: .seconds(60))
                        await world.clock.run(for: .seconds(20))
                        _ = try? await read
                    }
                }
                counts.append(await faults[event]?.count ?? 0)
            }
        }
        #expect(counts[0] == counts[1])
        #expect((1...19).contains(counts[0]))
    }
}
