import BLE
import BLEBeacons
import BLESimulation
import BLETestSupport
import Testing

/// The readings of all sensors in range.
@Suite(.hangLimit) struct SensorTablesTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private static func sensor(_ name: String, _ celsius: Double) throws -> PeripheralDefinition {
        PeripheralDefinition(advertisement: try advertisement(name, celsius), services: [])
    }

    private static func advertisement(_ name: String, _ celsius: Double) throws -> Advertisement {
        var advertisement = try Eddystone.telemetry(
            EddystoneTelemetry(
                batteryMillivolts: nil, temperatureCelsius: celsius, advertisementCount: 1, uptimeDeciseconds: 1)
        ).advertisement()
        (advertisement.localName, advertisement.rssi) = (name, -50)
        return advertisement
    }

    /// The names and the readings of a table.
    private static func texts(_ table: SensorTable?) -> [String] {
        table?.sensors.map { "\($0.name ?? ""): \($0.readings.map(\.reading.valueText).joined(separator: ", "))" } ?? []
    }

    @Test func `two sensors are in the table, one of them silent, and what has no readings is not`() async throws {
        let fridge = await world.radio.add(try Self.sensor("Fridge", 4))
        let freezer = await world.radio.add(try Self.sensor("Freezer", -18))
        // One without data, and one whose data is malformed.
        _ = await world.radio.add(PeripheralDefinition(advertisement: Advertisement(localName: "Lamp"), services: []))
        let malformed = Advertisement(localName: "Liar", serviceData: [BluetoothUUID(0xFEAA): [0x20, 0x00, 0xFF]])
        _ = await world.radio.add(PeripheralDefinition(advertisement: malformed, services: []))
        let latest = SharedValue<SensorTable?>(nil)
        let reading = Task { [world] in
            for try await table in world.central.sensors(formats: .beacons) { latest.change { $0 = table } }
        }
        try await latest.until { Self.texts($0).sorted() == ["Freezer: -18 °C", "Fridge: 4 °C"] }
        await freezer.setAdvertising(false)
        await world.clock.run(for: .seconds(60))
        await fridge.setAdvertisement(try Self.advertisement("Fridge", 5))
        try await world.asTimePasses {
            try await latest.until { Self.texts($0).sorted() == ["Freezer: -18 °C", "Fridge: 5 °C"] }
        }
        let table = try #require(latest.value)
        // The silent one stays, and its age tells that it is.
        let age = try #require(table.sensor(freezer.id)).age
        #expect(age >= .seconds(60))
        #expect(try #require(table.sensor(fridge.id)).age <= age - .seconds(60))
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
        await world.central.shutDown()
    }

    @Test func `the scan lasts as long as the loop, and has the criteria`() async throws {
        let isScanning = { [world] in (try? await world.central.adapters().first?.isDiscovering) == true }
        let fridge = await world.radio.add(try Self.sensor("Fridge", 4))
        _ = await world.radio.add(try Self.sensor("Freezer", -18))
        for try await table in world.central.sensors(formats: .beacons, matching: .id(fridge.id)) {
            #expect(await isScanning())
            #expect(Self.texts(table) == ["Fridge: 4 °C"])
            break
        }
        await until { await !isScanning() }
        await world.central.shutDown()
        await expectError(.shutDown) { for try await _ in world.central.sensors(formats: .beacons) {} }
    }
}
