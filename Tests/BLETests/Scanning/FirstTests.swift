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
        bench.clock.advance(by: .seconds(3))
        let found = try await finding.value
        #expect(found.map(\.peripheral.id.rawValue) == ["near", "far", "unknown"])
        #expect(found.map(\.advertisement.rssi) == [-40, -90, nil])
        await bench.backend.asked(.stopDiscovery)
    }

    @Test func `a scan for a while counts from when the radio scans`() async throws {
        await bench.backend.script(.startDiscovery, .hold)
        let finding = Task { try await bench.central.discoveries(for: .seconds(3)) }
        await bench.backend.asked(.startDiscovery)
        bench.clock.advance(by: .seconds(3))
        await bench.backend.release(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(3))
        await bench.backend.emit(.advertisementReceived("near", Advertisement(rssi: -40)))
        bench.clock.advance(by: .seconds(3))
        #expect(try await finding.value.map(\.peripheral.id.rawValue) == ["near"])
    }

    @Test func `a scan for a while that fails throws`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.unauthorized)))
        await expectError(.unauthorized) { try await bench.central.discoveries(for: .seconds(3)) }
    }

    // MARK: Without an adapter

    @Test(arguments: [(AdapterState.poweredOff, BLEError.Code.poweredOff), (.unavailable, .adapterNotFound)])
    func `while the adapter is off or absent, a call for one result throws at once`(
        _ state: AdapterState, _ code: BLEError.Code
    ) async throws {
        await bench.backend.emit(.adapterStateChanged(state))
        let central = bench.central
        let calls: [() async throws -> Void] = [
            { _ = try await central.first(matching: .any) },
            { _ = try await central.discoveries(for: .seconds(3)) },
            { _ = try await central.read(Bench.level) },
            { try await central.write([1], to: Bench.setting) },
            { _ = try await central.notifications(Bench.level) },
            { try await central.withDeadline(.seconds(3)) { _ = try await central.first(matching: .any) } },
        ]
        for call in calls {
            let error = await expectError(code) { try await call() }
            #expect(error?.remedy != nil)
        }
        #expect(await bench.backend.count(.startDiscovery) == 0)
    }

    @Test func `if the adapter is switched off meanwhile, a call for one result ends`() async throws {
        let central = bench.central
        let finding = Task { try await central.first(matching: .any) }
        let listing = Task { try await central.discoveries(for: .seconds(3)) }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(3))
        await until { await central.isScanning }
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        await expectError(.poweredOff) { try await finding.value }
        await expectError(.poweredOff) { try await listing.value }
    }

    @Test func `a scan that cannot be started without power ends a call for one result`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.poweredOff)))
        await expectError(.poweredOff) { try await bench.central.first(matching: .any) }
    }

    @Test func `if Bluetooth does not return in time, the error says so`() async throws {
        let lost = BLEError(.bluetoothLost, "the daemon is not running", remedy: "Start it.")
        await bench.backend.emit(.stackLost(lost), .adapterStateChanged(.resetting))
        let finding = Task { try await bench.central.first(matching: .any, timeout: .seconds(4)) }
        await bench.clock.sleepers(1, for: .seconds(4))
        bench.clock.advance(by: .seconds(4))
        let error = await expectError(.timedOut) { try await finding.value }
        #expect(error?.message.hasSuffix("the daemon is not running") == true)
        #expect(error?.remedy == "Start it.")
        #expect((error?.cause as? BLEError)?.code == .bluetoothLost)
        // An earlier wait is not the reason of a later error.
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        let again = Task { try await bench.central.first(matching: .any, timeout: .seconds(5)) }
        await bench.clock.sleepers(1, for: .seconds(5))
        bench.clock.advance(by: .seconds(5))
        await expectError(.peripheralNotFound) { try await again.value }
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
        await bench.backend.set(CentralLimits(reportsConnectability: false))
        let error = await expectError(.notSupported) {
            try await bench.central.first(matching: .connectable && service)
        }
        #expect(error?.isRetryable == false)
        await bench.backend.set(CentralLimits())
        let finding = Task { try await bench.central.first(matching: .connectable) }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(
            .advertisementReceived(bench.lamp.id, Advertisement(isConnectable: false)),
            .advertisementReceived(bench.strap.id, Advertisement(isConnectable: true)))
        #expect(try await finding.value.peripheral == bench.strap)
    }
}
