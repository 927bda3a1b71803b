import BLE
import BLEObservation
import BLESimulation
import BLETestSupport
import Observation
import Testing

@MainActor @Suite(.hangLimit) struct ObservableNearbyTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private static func beacon(_ name: String, rssi: Int) -> PeripheralDefinition {
        PeripheralDefinition(advertisement: Advertisement(localName: name, rssi: rssi), services: [])
    }

    private func names(_ nearby: ObservableNearby) -> [String] {
        nearby.discoveries.map { $0.advertisement.localName ?? "" }
    }

    /// Ends a view, which is then notified.
    private func end(_ task: Task<Void, any Error>) async {
        task.cancel()
        await expectError(.cancelled) { try await task.value }
    }

    @Test func `peripherals join the list, change in it and leave it, and observers are notified`() async throws {
        let nearby = ObservableNearby(world.central, staleAfter: .seconds(100), interval: .milliseconds(250))
        let task = Task { try await nearby.run() }
        let first = await world.radio.add(Self.beacon("first", rssi: -40))
        try await observed { names(nearby) == ["first"] }
        _ = await world.radio.add(Self.beacon("second", rssi: -30))
        try await world.asTimePasses { try await observed { names(nearby) == ["first", "second"] } }
        await first.setAdvertisement(Advertisement(localName: "renamed", rssi: -40))
        try await world.asTimePasses { try await observed { names(nearby) == ["renamed", "second"] } }
        #expect(nearby.discoveries.first?.id == first.id)
        await first.remove()
        try await world.asTimePasses { try await observed { names(nearby) == ["second"] } }
        await end(task)
        #expect(names(nearby) == ["second"])
        await world.central.shutDown()
    }

    @Test func `the list is sorted as asked`() async throws {
        let nearby = ObservableNearby(world.central, staleAfter: .seconds(100), interval: .milliseconds(250)) {
            ($0.advertisement.rssi ?? .min) > ($1.advertisement.rssi ?? .min)
        }
        _ = await world.radio.add(Self.beacon("far", rssi: -70))
        _ = await world.radio.add(Self.beacon("near", rssi: -30))
        _ = await world.radio.add(Self.beacon("too far", rssi: -90))
        let task = Task { try await nearby.run() }
        try await world.asTimePasses { try await observed { nearby.discoveries.count == 2 } }
        #expect(names(nearby) == ["near", "far"])
        await end(task)
        await world.central.shutDown()
    }

    @Test func `the list changes no more often than its interval, and then to the newest state`() async throws {
        let nearby = ObservableNearby(world.central, interval: .milliseconds(375))
        let beacon = await world.radio.add(Self.beacon("0", rssi: -40))
        let task = Task { try await nearby.run() }
        try await observed { names(nearby) == ["0"] }
        // The list sleeps; other sleeps have other durations.
        await world.clock.sleepers(1, for: .milliseconds(375))
        let count = SharedValue(0)
        withObservationTracking {
            _ = nearby.discoveries
        } onChange: {
            count.change { $0 += 1 }
        }
        for number in 1...50 {
            await beacon.setAdvertisement(Advertisement(localName: "\(number)", rssi: -40))
        }
        // All of them are received.
        await world.clock.run(for: .zero)
        #expect(count.value == 0)
        world.clock.advance(by: .milliseconds(375))
        try await observed { names(nearby) != ["0"] }
        #expect(names(nearby) == ["50"])
        #expect(count.value == 1)
        await end(task)
        await world.central.shutDown()
    }

    @Test func `the scan runs only while the list does, and its end is an error`() async throws {
        let nearby = ObservableNearby(world.central)
        let isScanning = { [world] in (try? await world.central.adapters().first?.isDiscovering) == true }
        #expect(await !isScanning())
        let task = Task { try await nearby.run() }
        await until { await isScanning() }
        await end(task)
        await until { await !isScanning() }
        let again = Task { try await nearby.run() }
        await until { await isScanning() }
        #expect(nearby.error == nil)
        await world.central.shutDown()
        await expectError(.shutDown) { try await again.value }
        #expect(nearby.error?.code == .shutDown)
    }

    @Test func `a list that outlives its central stays as it is, and does not run again`() async throws {
        let nearby = ObservableNearby(world.central, staleAfter: .seconds(100))
        _ = await world.radio.add(Self.beacon("first", rssi: -40))
        let task = Task { try await nearby.run() }
        try await observed { names(nearby) == ["first"] }
        await world.central.shutDown()
        await expectError(.shutDown) { try await world.asTimePasses { try await task.value } }
        #expect(names(nearby) == ["first"])
        let found = try #require(nearby.discoveries.first)
        await expectError(.shutDown) { try await found.peripheral.connect() }
        await expectError(.shutDown) { try await nearby.run() }
    }

    @Test func `a view that is not running is released`() async throws {
        weak var released: ObservableNearby?
        do {
            let nearby = ObservableNearby(world.central, staleAfter: .seconds(100))
            released = nearby
            let task = Task { try await nearby.run() }
            await until { (try? await world.central.adapters().first?.isDiscovering) == true }
            await end(task)
        }
        await until { released == nil }
        await world.central.shutDown()
    }
}
