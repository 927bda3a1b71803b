@testable import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct NearbyTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }
    private var lamp: Peripheral { bench.lamp }

    init() async throws { bench = try await Bench() }

    private func hear(_ peripheral: Peripheral, _ rssi: Int?, _ name: String = "x") async {
        await bench.backend.emit(.advertisementReceived(peripheral.id, Advertisement(localName: name, rssi: rssi)))
    }

    /// Reads lists, with the strap and the lamp found in this order.
    private func near(_ nearby: Nearby) async throws -> Nearby.Iterator {
        var lists = nearby.makeAsyncIterator()
        let radio = Task {
            await bench.backend.asked(.startDiscovery)
            await hear(strap, -50)
            await hear(lamp, -60)
        }
        while try await lists.next()?.count != 2 {}
        await radio.value
        await bench.clock.sleepers(1)
        return lists
    }

    private func ids(_ list: NearbyList?) -> [Peripheral] { list?.map(\.peripheral) ?? [] }

    @Test func `each is listed once, in the order of the finds, with what it said last`() async throws {
        var lists = try await near(bench.central.nearby())
        await hear(lamp, -40, "Lamp")
        let list = try await lists.next()
        #expect(ids(list) == [strap, lamp])
        #expect(list?[lamp.id]?.advertisement.localName == "Lamp")
        #expect(list?["other"] == nil && list?[2] == nil && list?[-1] == nil)
        #expect(list?.strongest?.peripheral == lamp)
        #expect(list?[1]?.advertisement == Advertisement(localName: "Lamp", rssi: -40))
    }

    @Test func `what says the same again makes no new list`() async throws {
        var lists = try await near(bench.central.nearby())
        await hear(lamp, -60)
        await hear(strap, -50)
        await hear(strap, -51)
        #expect(try await lists.next()?.map(\.advertisement.rssi) == [-51, -60])
    }

    @Test(arguments: [(-80, true), (-81, false), (nil, false)] as [(Int?, Bool)])
    func `a peripheral of -80 dBm is near`(_ rssi: Int?, _ isNear: Bool) async throws {
        var lists = try await near(bench.central.nearby())
        let other = bench.central.peripheral(Peripheral.ID(rawValue: "other"))
        await hear(other, rssi)
        await hear(lamp, -59)
        var list = try await lists.next()
        while list?[1]?.advertisement.rssi != -59 { list = try await lists.next() }
        #expect(ids(list) == (isNear ? [strap, lamp, other] : [strap, lamp]))
    }

    @Test func `the criteria count too`() async throws {
        var lists = bench.central.nearby(matching: .name("Lamp"), minimumRSSI: -70).makeAsyncIterator()
        let radio = Task {
            await bench.backend.asked(.startDiscovery)
            await hear(strap, -50)
            await hear(lamp, -71, "Lamp")
            await hear(lamp, -70, "Lamp")
        }
        #expect(try await ids(lists.next()) == [lamp])
        await radio.value
        #expect(
            await bench.backend.calls(.startDiscovery)
                == [.startDiscovery(DiscoveryFilter(minimumRSSI: -70, tolerance: .milliseconds(20)))])
    }

    @Test func `a peripheral that is silent or weak for 8 s leaves the list, and comes back at its end`() async throws {
        var lists = try await near(bench.central.nearby())
        bench.clock.advance(by: .seconds(4))
        await bench.clock.sleepers(1)
        await hear(lamp, -61)
        await hear(strap, -90)
        #expect(try await lists.next()?.count == 2)
        bench.clock.advance(by: .seconds(4))
        #expect(try await ids(lists.next()) == [lamp])
        await hear(strap, -50)
        #expect(try await ids(lists.next()) == [lamp, strap])
    }

    @Test func `a peripheral with a link stays in the list`() async throws {
        try await strap.connect()
        var lists = try await near(bench.central.nearby(staleAfter: .zero))
        bench.clock.advance(by: .seconds(60))
        #expect(try await ids(lists.next()) == [strap])
    }

    @Test func `a slow reader gets the newest list`() async throws {
        var lists = try await near(bench.central.nearby())
        for rssi in 1...50 { await hear(strap, -rssi) }
        for _ in 0..<1000 { await Task.yield() }  // What was set in motion is over.
        #expect(try await lists.next()?.first?.advertisement.rssi == -50)
    }

    @Test func `leaving the loop stops the scan`() async throws {
        _ = try await near(bench.central.nearby())
        await bench.backend.asked(.stopDiscovery)
        #expect(await bench.backend.count(.startDiscovery) == 1)
    }

    @Test func `cancellation ends the wait and the scan`() async throws {
        let reader = Task { [bench] in
            for try await _ in bench.central.nearby() {}
        }
        await bench.backend.asked(.startDiscovery)
        reader.cancel()
        await expectError(.cancelled) { try await reader.value }
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `a scan that fails fails the list`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.busy)))
        var lists = bench.central.nearby().makeAsyncIterator()
        await expectError(.busy) { try await lists.next() }
    }
}

/// The list itself, at length.
@Suite struct NearbyTrackerTests {
    @Test func `peripherals stay in order through any number of losses`() async throws {
        let bench = try await Bench()
        var (list, expected) = (NearbyTracker(), [Peripheral]())
        var random = SeededGenerator(seed: 7)
        for number in 0..<5000 {
            let peripheral = bench.central.peripheral(Peripheral.ID(rawValue: "\(number % 97)"))
            if Bool.random(using: &random) {
                let advertisement = Advertisement(rssi: Int.random(in: -90 ... -30, using: &random))
                let isNew = !expected.contains(peripheral)
                let discovery = Discovery(peripheral: peripheral, advertisement: advertisement)
                _ = list.take(isNew ? .found(discovery) : .updated(discovery))
                if isNew { expected.append(peripheral) }
            } else {
                #expect(list.take(.lost(peripheral)) == expected.contains(peripheral))
                expected.removeAll { $0 == peripheral }
            }
            #expect(list.discoveries.map(\.peripheral) == expected)
        }
    }
}
