import BLESimulation
import BLETestSupport
import Synchronization
import Testing

@testable import BLE

/// The state that a central keeps of peripherals that pass by once.
@Suite(.hangLimit) struct PassersByTests {
    @Test func `a day of 100,000 addresses leaves nothing behind`() async throws {
        let bench = try await Bench()
        await bench.backend.set([77], of: 2)
        // One scan follows the peripherals nearby, one only discovers; both are read slowly.
        let scans = [Duration.seconds(30), nil].map { staleAfter in
            Task { [bench] in
                for try await _ in bench.central.discoveryEvents(duplicates: true, staleAfter: staleAfter) {
                    await Task.yield()
                }
            }
        }
        await bench.backend.asked(.startDiscovery)
        let batch = 100
        var last: [Peripheral.ID] = []
        for hour in 0..<1000 {
            let ids = (0..<batch).map { Peripheral.ID(rawValue: "\(hour)/\($0)") }
            for id in ids { await bench.backend.emit(.advertisementReceived(id, Advertisement(rssi: -50))) }
            // One of them is more than a passer-by.
            let guest = bench.central.peripheral(ids[0])
            try await guest.connect()
            _ = try await guest.read(Bench.level)
            try await guest.disconnect()
            // bluetoothd forgets silent devices.
            for id in last { await bench.backend.emit(.peripheralRemoved(id)) }
            last = ids
            bench.clock.advance(by: .milliseconds(86_400))
            await bench.clock.sleepers(1, for: .seconds(1))
        }
        for id in last { await bench.backend.emit(.peripheralRemoved(id)) }
        let central = bench.central
        #expect(await central.linkCount == 0)
        #expect(await central.trackedCount == 0)
        for scan in scans { scan.cancel() }
        await central.shutDown()
    }
}

extension Central {
    fileprivate var trackedCount: Int { scanning.trackedCount }
}
