import BLE
import BLEObservation
import BLESimulation
import BLETestSupport
import Observation
import Testing

/// Sensors and the adapter, as observable objects.
@MainActor @Suite(.hangLimit) struct ObservableSensorsTests {
    private let world: SimulatedWorld

    /// A format whose one reading is a byte of manufacturer data.
    private static let format = AdvertisementFormat(AdvertisementFormat.Description("Level", .company(0xFFFF))) {
        (advertisement) throws(AdvertisementFormatError) in
        advertisement.manufacturerData[0xFFFF]?.first.map { [SensorReading(name: "level", value: .number(Double($0)))] }
    }

    init() async throws { world = try await SimulatedWorld() }

    private static func level(_ level: UInt8) -> Advertisement {
        Advertisement(localName: "Tank", rssi: -50, manufacturerData: [0xFFFF: [level]])
    }

    private func texts(_ sensors: ObservableSensors) -> [String] {
        sensors.table.sensors.map { $0.readings.map(\.reading.description).joined(separator: ", ") }
    }

    @Test func `two sensors are observed, and one that falls silent keeps its reading, with its age`() async throws {
        let sensors = ObservableSensors(world.central, formats: AdvertisementFormats([Self.format]))
        #expect(texts(sensors).isEmpty)
        let first = await world.radio.add(PeripheralDefinition(advertisement: Self.level(1), services: []))
        let silent = await world.radio.add(PeripheralDefinition(advertisement: Self.level(2), services: []))
        let task = Task { try await sensors.run() }
        try await world.asTimePasses { try await observed { texts(sensors).sorted() == ["level 1", "level 2"] } }
        await silent.setAdvertising(false)
        await first.setAdvertisement(Self.level(3))
        try await world.asTimePasses { try await observed { texts(sensors).sorted() == ["level 2", "level 3"] } }
        await world.clock.run(for: .seconds(60))
        #expect(try #require(sensors.table.sensor(silent.id)).age >= .seconds(60))
        #expect(sensors.error == nil)
        await world.central.shutDown()
        await expectError(.shutDown) { try await world.asTimePasses { try await task.value } }
        #expect(sensors.error?.code == .shutDown)
        #expect(texts(sensors).count == 2)
    }

    @Test func `the adapter's state is observed while it is followed`() async throws {
        let adapter = ObservableAdapter(world.central)
        #expect(adapter.state == nil)
        let task = Task { try await adapter.run() }
        try await observed { adapter.state == .poweredOn }
        await world.radio.setPowered(false)
        try await observed { adapter.state == .poweredOff }
        await world.radio.setPresent(false)
        try await observed { adapter.state == .unavailable }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        #expect(adapter.state == nil)
        await world.central.shutDown()
        await expectError(.shutDown) { try await adapter.run() }
    }

    @Test func `a second run follows the adapter after the end of the first`() async throws {
        let adapter = ObservableAdapter(world.central)
        let first = Task { try await adapter.run() }
        try await observed { adapter.state == .poweredOn }
        let second = Task { try await adapter.run() }
        await world.radio.setPowered(false)
        try await observed { adapter.state == .poweredOff }
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        try await observed { adapter.state == .poweredOff }
        await world.radio.setPowered(true)
        try await observed { adapter.state == .poweredOn }
        second.cancel()
        await expectError(.cancelled) { try await second.value }
        #expect(adapter.state == nil)
        await world.central.shutDown()
    }
}
