import BLE
import BLEBeacons
import BLESimulation
import BLETestSupport
import Testing

/// The last readings of sensors, and their ages.
@Suite(.hangLimit) struct SensorTableTests {
    @Test(
        arguments: [
            (["t", "t"], ["t", "t 2"]), (["t", "t 2", "t", "t"], ["t", "t 2", "t 3", "t 4"]),
            (["t", "t", "t 2"], ["t", "t 3", "t 2"]), (["t 2", "T-2", "t", "t"], ["t 2", "T-2 2", "t", "t 3"]),
        ])
    func `readings of one name have numbers, and each an id of its own`(_ names: [String], _ numbered: [String]) {
        let readings = SensorReading.numbered(names.map { SensorReading(name: $0, value: .number(1)) })
        #expect(readings.map(\.name) == numbered)
        #expect(Set(readings.map(\.id)).count == names.count)
    }

    private let clock = ManualClock()

    private func central() async throws -> Central {
        try await Central(backend: .simulated(SimulatedRadio()), configuration: .quiet())
    }

    /// Returns a discovery of the peripheral with a number.
    private func discovery(_ number: Int, _ advertisement: Advertisement, _ central: Central) -> Discovery {
        Discovery(peripheral: central.peripheral(id(number)), advertisement: advertisement)
    }

    private func id(_ number: Int) -> Peripheral.ID { Peripheral.ID(rawValue: "peripheral \(number)") }

    private func telemetry(_ celsius: Double?, millivolts: Int? = nil, name: String? = nil) throws -> Advertisement {
        var advertisement = try Eddystone.telemetry(
            EddystoneTelemetry(
                batteryMillivolts: millivolts, temperatureCelsius: celsius, advertisementCount: 1, uptimeDeciseconds: 1)
        ).advertisement()
        (advertisement.localName, advertisement.rssi) = (name, -50)
        return advertisement
    }

    @Test func `readings that are sent in turns are kept, each with its age`() async throws {
        let central = try await central()
        var table = SensorTable(formats: .beacons, clock: clock)
        let isFirst = table.update(discovery(1, try telemetry(20, name: "Fridge"), central))
        #expect(isFirst)
        clock.advance(by: .seconds(30))
        table.update(discovery(1, try telemetry(nil, millivolts: 3000), central))
        clock.advance(by: .seconds(5))
        let sensor = try #require(table.sensor(id(1)))
        #expect(sensor.readings.map(\.reading.description) == ["temperature 20 °C", "voltage 3 V"])
        #expect(sensor.readings.map(\.age) == [.seconds(35), .seconds(5)])
        #expect(sensor.age == .seconds(5) && sensor.name == "Fridge" && sensor.formats == ["Eddystone"])
        table.update(discovery(1, try telemetry(21), central))
        #expect(table.sensor(id(1))?.readings.map(\.reading.valueText) == ["21 °C", "3 V"])
        await central.shutDown()
    }

    @Test func `an advertisement without readings is no sensor's, and a lost sensor stays`() async throws {
        let central = try await central()
        var table = SensorTable(formats: .beacons, clock: clock)
        let url = try Eddystone.url("https://example.org", txPower: -20).advertisement()
        let results = [
            table.apply(.found(discovery(1, url, central))),
            table.apply(.found(discovery(1, Advertisement(localName: "Lamp"), central))),
            table.apply(.found(discovery(2, try telemetry(1), central))),
            table.apply(.updated(discovery(3, try telemetry(2), central))),
            table.apply(.lost(central.peripheral(id(2)))),
        ]
        #expect(results == [false, false, true, true, false])
        #expect(table.sensors.map(\.peripheral.id) == [id(2), id(3)])
        table.remove(id(2))
        #expect(table.sensors.map(\.peripheral.id) == [id(3)])
        await central.shutDown()
    }

    @Test func `a discovery without a signal strength was not received`() async throws {
        let central = try await central()
        var table = SensorTable(formats: .beacons, clock: clock)
        table.apply(.found(discovery(1, try telemetry(20), central)))
        clock.advance(by: .seconds(60))
        var known = try telemetry(20)
        known.rssi = nil
        let results = [
            table.apply(.found(discovery(1, known, central))), table.apply(.updated(discovery(2, known, central))),
        ]
        #expect(results == [false, false])
        #expect(table.sensors.map(\.age) == [.seconds(60)])
        await central.shutDown()
    }

    @Test func `a table may keep any number of sensors`() async throws {
        let central = try await central()
        var table = SensorTable(formats: .beacons, maximumCount: .max, clock: clock)
        for number in 0..<3 { table.update(discovery(number, try telemetry(20), central)) }
        #expect(table.count == 3)
        await central.shutDown()
    }

    @Test func `of more sensors than it keeps, those heard last stay`() async throws {
        let central = try await central()
        var table = SensorTable(formats: .beacons, maximumCount: 8, clock: clock)
        table.update(discovery(0, try telemetry(1), central))
        for number in 1...100 {
            clock.advance(by: .seconds(1))
            table.update(discovery(number, try telemetry(2), central))
            // One that is heard again and again is not removed.
            table.update(discovery(0, try telemetry(1), central))
            #expect(table.count <= 10)
        }
        let ids = Set(table.sensors.map(\.peripheral.id))
        #expect(ids.isSuperset(of: (95...100).map(id)) && ids.contains(id(0)))
        await central.shutDown()
    }

    @Test func `readings of two formats are not mixed up, in whichever packet each comes`() async throws {
        let central = try await central()
        func format(_ name: String, _ company: UInt16) -> AdvertisementFormat {
            AdvertisementFormat(AdvertisementFormat.Description(name)) { advertisement in
                advertisement.manufacturerData[company]?.first.map {
                    [SensorReading(name: "temperature", value: .number(Double($0)))]
                }
            }
        }
        let formats = AdvertisementFormats([format("Inside", 1), format("Outside", 2)])
        var table = SensorTable(formats: formats, clock: clock)
        for data: [UInt16: [UInt8]] in [[1: [20], 2: [5]], [2: [6]], [1: [21]]] {
            table.update(discovery(1, Advertisement(manufacturerData: data), central))
        }
        let texts = table.sensor(id(1))?.readings.map(\.reading.description)
        #expect(texts == ["temperature 21", "temperature 2 6"])
        await central.shutDown()
    }

    @Test func `one with a new name for each reading does not grow without end`() async throws {
        let central = try await central()
        let format = AdvertisementFormat(AdvertisementFormat.Description("Any")) { advertisement in
            advertisement.localName.map { [SensorReading(name: $0, value: .flag(true))] }
        }
        var table = SensorTable(formats: AdvertisementFormats([format]), clock: clock)
        for number in 0..<200 {
            table.update(discovery(1, Advertisement(localName: "value \(number)"), central))
        }
        #expect(table.sensor(id(1))?.readings.count == 64)
        await central.shutDown()
    }
}
