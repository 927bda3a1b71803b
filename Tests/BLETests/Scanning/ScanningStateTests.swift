import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct ScanningStateTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    @Test func `the state follows the radio, through the loss of the adapter`() async throws {
        var states = await bench.central.scanningStates().makeAsyncIterator()
        #expect(try await states.next() == false)
        let scan = Task { for try await _ in bench.central.discoveries() {} }
        #expect(try await states.next() == true)
        #expect(await bench.central.isScanning)
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        #expect(try await states.next() == false)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        #expect(try await states.next() == true)
        scan.cancel()
        #expect(try await states.next() == false)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await states.next() }
        await expectError(.shutDown) {
            for try await _ in await bench.central.scanningStates() {}
        }
    }

    @Test func `a peripheral with a link is reported first, once, and is not lost while the link stays`() async throws {
        let connected = KnownPeripheral(
            id: bench.lamp.id, advertisement: Advertisement(localName: "Lamp", rssi: -40), isConnected: true)
        await bench.backend.set([
            connected, KnownPeripheral(id: bench.strap.id, advertisement: Advertisement(), isConnected: false),
        ])
        var events = bench.central.discoveryEvents(duplicates: true).makeAsyncIterator()
        guard case .found(let found) = try await events.next() else {
            Issue.record("not found")
            return
        }
        #expect(found == Discovery(peripheral: bench.lamp, advertisement: Advertisement(localName: "Lamp")))
        await bench.clock.sleepers(1, for: .seconds(1))
        bench.clock.advance(by: .seconds(9))
        await bench.clock.sleepers(1, for: .seconds(1))
        await bench.backend.set([])
        bench.clock.advance(by: .seconds(8))
        guard case .lost(let lost) = try await events.next() else {
            Issue.record("not lost")
            return
        }
        #expect(lost == bench.lamp)
    }

    @Test func `a scan says what it dropped, and can fail instead`() async throws {
        let few = bench.central.discoveries(overflow: .dropOldest(capacity: 2))
        let strict = bench.central.discoveryEvents(overflow: .fail(capacity: 2))
        var (fewFound, strictFound) = (few.makeAsyncIterator(), strict.makeAsyncIterator())
        let ids = (0..<6).map { Peripheral.ID(rawValue: "\($0)") }
        let radio = Task {
            await bench.backend.asked(.startDiscovery)
            await bench.backend.emit(.advertisementReceived(ids[0], Advertisement()))
        }
        #expect(try await fewFound.next()?.peripheral.id == ids[0])
        await radio.value
        let again = Task {
            // The second scan listens: it checks for silent peripherals, which the first one does not.
            await bench.clock.sleepers(1, for: .seconds(1))
            await bench.backend.emit(.advertisementReceived(ids[0], Advertisement(txPower: 1)))
        }
        _ = try await strictFound.next()
        await again.value
        for id in ids { await bench.backend.emit(.advertisementReceived(id, Advertisement())) }
        #expect(few.droppedCount == 3)
        #expect(try await fewFound.next()?.peripheral.id == ids[4])
        await expectError(.overflow) {
            while try await strictFound.next() != nil {}
        }
        #expect(strict.droppedCount > 0)
    }
}
