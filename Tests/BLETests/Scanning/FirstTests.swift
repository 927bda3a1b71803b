import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct FirstTests {
    private let bench: Bench
    private let service = DiscoveryCriteria.service(Bench.battery)
    private let matching = Advertisement(rssi: -50, serviceUUIDs: [Bench.battery])

    init() async throws { bench = try await Bench() }

    @Test func `the first that meets the criteria is returned, and the scan ends`() async throws {
        let finding = Task { try await bench.central.first(matching: service) }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(
            .advertisementReceived(bench.lamp.id, Advertisement()), .advertisementReceived(bench.strap.id, matching))
        let found = try await finding.value
        #expect(found.peripheral == bench.strap)
        #expect(found.advertisement == matching)
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `none in time is not found`() async throws {
        let finding = Task { try await bench.central.first(matching: service, timeout: .seconds(4)) }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(4))
        bench.clock.advance(by: .seconds(4))
        let error = await expectError(.peripheralNotFound) { try await finding.value }
        #expect(error?.remedy != nil)
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `one with a link is returned without a scan`() async throws {
        let (strap, lamp) = (bench.strap.id, bench.lamp.id)
        await bench.backend.set([
            KnownPeripheral(id: lamp, advertisement: matching, isConnected: false),
            KnownPeripheral(id: strap, advertisement: Advertisement(), isConnected: true, services: [Bench.battery]),
        ])
        #expect(try await bench.central.first(matching: service).peripheral.id == strap)
        #expect(try await bench.central.first(matching: .id(strap)).peripheral.id == strap)
        #expect(await bench.backend.count(.startDiscovery) == 0)
    }

    @Test func `a connected device that the scan would not report is not returned`() async throws {
        let classic = Advertisement(rssi: -30, deviceClass: 0x240404)
        await bench.backend.set([KnownPeripheral(id: bench.lamp.id, advertisement: classic, isConnected: true)])
        #expect(
            try await bench.central.first(matching: .transport(.classic)).peripheral == bench.lamp)
        for criteria in [DiscoveryCriteria.any, .transport(.classic) && .rssi(atLeast: -40)] {
            let finding = Task { try await bench.central.first(matching: criteria, timeout: .seconds(2)) }
            await bench.clock.sleepers(1, for: .seconds(2))
            bench.clock.advance(by: .seconds(2))
            await expectError(.peripheralNotFound) { try await finding.value }
        }
    }

    @Test func `cancelling ends it, and so does the shutdown`() async throws {
        let cancelled = Task { try await bench.central.first(matching: service) }
        await bench.backend.asked(.startDiscovery)
        cancelled.cancel()
        let error = await expectError(.cancelled) { try await cancelled.value }
        #expect(error?.isCancellation == true)
        let ended = Task { try await bench.central.first(matching: service) }
        await bench.settle()
        await bench.central.shutDown()
        await expectError(.shutDown) { try await ended.value }
        await expectError(.shutDown) { try await bench.central.first(matching: service) }
    }

    @Test func `a scan for a while returns what was found, strongest first, with the latest data`() async throws {
        let finding = Task { try await bench.central.discoveries(for: .seconds(3)) }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(3))
        let ids = ["far", "gone", "near", "unknown"].map { Peripheral.ID(rawValue: $0) }
        for (id, rssi) in zip(ids, [-90, -30, -80, nil]) {
            await bench.backend.emit(.advertisementReceived(id, Advertisement(rssi: rssi)))
        }
        await bench.backend.emit(
            .advertisementReceived(ids[2], Advertisement(rssi: -40)), .peripheralRemoved(ids[1]))
        await bench.settle()
        bench.clock.advance(by: .seconds(3))
        let found = try await finding.value
        #expect(found.map(\.peripheral.id.rawValue) == ["near", "far", "unknown"])
        #expect(found.map(\.advertisement.rssi) == [-40, -90, nil])
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `a scan for a while that fails throws`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.unauthorized)))
        await expectError(.unauthorized) { try await bench.central.discoveries(for: .seconds(3)) }
    }

    // MARK: Criteria

    @Test func `peripherals are found, or left out, by their ids`() async throws {
        let (strap, lamp) = (bench.strap.id, bench.lamp.id)
        let finding = Task { try await bench.central.first(matching: .excluding([strap]) && .ids([strap, lamp])) }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(
            .advertisementReceived(strap, matching), .advertisementReceived("other", matching),
            .advertisementReceived(lamp, matching))
        #expect(try await finding.value.peripheral.id == lamp)
        #expect(!DiscoveryCriteria.id(strap).matches(matching))
    }

    @Test func `a stack that does not report connectability refuses to filter by it`() async throws {
        await bench.backend.set(BackendLimits(reportsConnectability: false))
        let error = await expectError(.notSupported) {
            try await bench.central.first(matching: .connectable && service)
        }
        #expect(error?.isRetryable == false)
        await bench.backend.set(BackendLimits())
        let finding = Task { try await bench.central.first(matching: .connectable) }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(
            .advertisementReceived(bench.lamp.id, Advertisement(isConnectable: false)),
            .advertisementReceived(bench.strap.id, Advertisement(isConnectable: true)))
        #expect(try await finding.value.peripheral == bench.strap)
    }
}
