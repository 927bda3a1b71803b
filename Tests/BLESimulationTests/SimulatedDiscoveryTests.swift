import BLE
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct SimulatedDiscoveryTests {
    private static let battery = BluetoothUUID(0x180F)

    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// All events of the radio for a central with a filter, until the next advertisements are due.
    private func heard(_ filter: DiscoveryFilter) async throws -> [Peripheral.ID] {
        let heard = SharedValue<[Peripheral.ID]>([])
        let backend = SimulatedBackend.simulated(world.radio)
        let context = CentralContext(
            handleEvent: { event in
                guard case .advertisementReceived(let id, _) = event else { return }
                heard.change { $0.append(id) }
            }, logger: Logger(label: "test"), clock: world.clock)
        try await backend.start(context)
        try await backend.startDiscovery(filter)
        // Nothing sleeps before all have advertised.
        await world.clock.sleepers(1)
        try await backend.stopDiscovery()
        await backend.shutDown()
        return heard.value.sorted { $0.rawValue < $1.rawValue }
    }

    /// The peripheral of the next event, for scans that report duplicates.
    private func next(_ events: inout DiscoveryEvents.Iterator) async throws -> Discovery? {
        switch try await events.next() {
        case .found(let discovery), .updated(let discovery): discovery
        case .lost, .waiting, nil: nil
        }
    }

    private func definition(
        _ services: Set<BluetoothUUID> = [], rssi: Int? = -50, every interval: Duration = .milliseconds(200)
    ) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(rssi: rssi, serviceUUIDs: services), advertisingInterval: interval,
            services: [])
    }

    @Test func `a scan discovers all peripherals at once`() async throws {
        let ids = [await world.radio.add(definition()).id, await world.radio.add(definition()).id]
        #expect(try await heard(DiscoveryFilter()) == ids)
    }

    @Test func `the radio keeps to the services that are asked for`() async throws {
        _ = await world.radio.add(definition())
        _ = await world.radio.add(definition([BluetoothUUID(0x180D)]))
        let wanted = await world.radio.add(definition([Self.battery, BluetoothUUID(0x180D)])).id
        #expect(try await heard(DiscoveryFilter(services: [Self.battery])) == [wanted])
    }

    @Test(arguments: [(Transport.le, [0]), (.classic, [1]), (.any, [0, 1])])
    func `the radio keeps to the transport that is asked for`(_ transport: Transport, _ indices: [Int]) async throws {
        var speaker = definition()
        speaker.advertisement.deviceClass = 0x240404
        let ids = [await world.radio.add(definition()).id, await world.radio.add(speaker).id]
        #expect(try await heard(DiscoveryFilter(transport: transport)) == indices.map { ids[$0] })
    }

    @Test func `the radio keeps to the strength that is asked for`() async throws {
        _ = await world.radio.add(definition(rssi: -81))
        _ = await world.radio.add(definition(rssi: nil))
        let wanted = await world.radio.add(definition(rssi: -80)).id
        #expect(try await heard(DiscoveryFilter(minimumRSSI: -80)) == [wanted])
    }

    @Test func `a peripheral advertises with its interval, on the radio's clock`() async throws {
        let quick = await world.radio.add(definition(every: .milliseconds(100))).id
        let slow = await world.radio.add(definition(every: .milliseconds(300))).id
        var events = world.central.discoveryEvents(duplicates: true, staleAfter: nil).makeAsyncIterator()
        let first = [try await next(&events)?.peripheral.id, try await next(&events)?.peripheral.id]
        #expect(Set(first) == [quick, slow])
        for _ in 0..<2 {
            await world.clock.sleepers(1)
            world.clock.advance(by: .milliseconds(100))
            #expect(try await next(&events)?.peripheral.id == quick)
        }
        await world.clock.sleepers(1)
        world.clock.advance(by: .milliseconds(100))
        let both = [try await next(&events)?.peripheral.id, try await next(&events)?.peripheral.id]
        #expect(Set(both) == [quick, slow])
    }

    @Test func `a peripheral that arrives during the scan is discovered`() async throws {
        var events = world.central.discoveryEvents(staleAfter: nil).makeAsyncIterator()
        _ = await world.radio.add(definition())
        _ = try await next(&events)
        let late = await world.radio.add(definition())
        #expect(try await next(&events)?.peripheral.id == late.id)
    }

    @Test func `new data of a peripheral are reported at once`() async throws {
        let grip = await world.radio.add(definition())
        var events = world.central.discoveryEvents(staleAfter: nil).makeAsyncIterator()
        _ = try await next(&events)
        await grip.setAdvertisement(Advertisement(localName: "New", rssi: -50))
        #expect(try await next(&events)?.advertisement.localName == "New")
    }

    @Test func `a peripheral that stops advertising is silent, then discovered again`() async throws {
        let grip = await world.radio.add(definition())
        var events = world.central.discoveryEvents(duplicates: true, staleAfter: nil).makeAsyncIterator()
        _ = try await next(&events)
        await world.clock.sleepers(1)
        await grip.setAdvertising(false)
        #expect(world.clock.sleeperCount == 0)
        await grip.setAdvertising(true)
        #expect(try await next(&events)?.peripheral.id == grip.id)
    }

    @Test func `a peripheral with a link does not advertise`() async throws {
        let (strap, _) = try await world.add(definition())
        try await strap.connect()
        var events = world.central.discoveryEvents(duplicates: true, staleAfter: nil).makeAsyncIterator()
        let other = await world.radio.add(definition())
        // It is reported because of its link.
        let linked = try await next(&events)
        #expect(linked?.peripheral == strap && linked?.advertisement.rssi == nil)
        #expect(try await next(&events)?.peripheral.id == other.id)
        await world.clock.sleepers(1)
        #expect(world.clock.sleeperCount == 1)
        try await strap.disconnect()
        #expect(try await next(&events)?.peripheral == strap)
    }

    @Test func `a peripheral that is removed is silent and gets lost`() async throws {
        let grip = await world.radio.add(definition())
        var events = world.central.discoveryEvents(staleAfter: .seconds(2)).makeAsyncIterator()
        _ = try await next(&events)
        await world.clock.sleepers(2)
        await grip.remove()
        world.clock.advance(by: .seconds(2))
        guard case .lost(let peripheral) = try await events.next() else {
            Issue.record("not lost")
            return
        }
        #expect(peripheral.id == grip.id)
    }

    @Test func `without a scan, no peripheral advertises`() async throws {
        _ = try await world.add(definition())
        await until { world.clock.sleeperCount == 0 }
        #expect(try await world.central.adapters().first?.isDiscovering == false)
    }

    @Test func `discovered peripherals stay known`() async throws {
        #expect(await world.central.knownPeripherals() == [])
        let (strap, _) = try await world.add(.battery())
        try await strap.connect()
        let known = await world.central.knownPeripherals()
        #expect(known.map(\.id) == [strap.id])
        #expect(known.first?.isConnected == true)
        #expect(known.first?.advertisement.serviceUUIDs == [Self.battery])
    }

    @Test func `an address is kept in capitals, or made up`() async {
        var named = definition()
        named.address = "f0:f1:f2:f3:f4:f5"
        let ids = [
            await world.radio.add(named).id, await world.radio.add(definition()).id,
            await world.radio.add(definition()).id,
        ]
        #expect(ids[0].rawValue == "F0:F1:F2:F3:F4:F5")
        #expect(Set(ids).count == 3)
        #expect(ids.allSatisfy { $0.rawValue.split(separator: ":").map(\.count) == [2, 2, 2, 2, 2, 2] })
    }
}
