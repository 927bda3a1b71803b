import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct EnvironmentalSensingTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private static let trigger = BluetoothUUID(0x290D)

    /// A station with a thermometer indoors and one outdoors, and one sensor of each other kind that the tests use.
    private func station() async throws -> (EnvironmentalSensing, SimulatedPeripheral) {
        func temperature(_ value: Double?, _ application: EnvironmentalApplication) throws -> CharacteristicDefinition {
            try CharacteristicDefinition(
                .temperature, [.read, .notify], value: value,
                descriptors: [
                    DescriptorDefinition(
                        BluetoothUUID(0x290C),
                        value: EnvironmentalMeasurement(samplingFunction: .instantaneous, application: application)
                            .encoded()),
                    DescriptorDefinition(Self.trigger, value: [1, 60, 0, 0]),
                    DescriptorDefinition(Self.trigger, value: [6, 0xB8, 0x0B]),
                    DescriptorDefinition(BluetoothUUID(0x290B), value: [1]),
                    DescriptorDefinition(BluetoothUUID(0x2901), value: Array("\(application)".utf8)),
                    DescriptorDefinition(BluetoothUUID(0x2906), value: [0x60, 0xF0, 0x4C, 0x1D]),
                ])
        }
        let service = ServiceDefinition(
            .environmentalSensing,
            characteristics: [
                try CharacteristicDefinition(
                    .descriptorValueChanged, .indicate,
                    value: EnvironmentalDescriptorChange([], of: BluetoothUUID(0x2A6E))),
                try temperature(21.5, .indoor), try temperature(-3.25, .outdoor),
                try CharacteristicDefinition(.pressure, .read, value: 101_325),
                try CharacteristicDefinition(.humidity, .read, value: nil),
                try CharacteristicDefinition(.pm2_5Concentration, .read, value: .nan),
                try CharacteristicDefinition(.barometricPressureTrend, .read, value: .steady),
                try CharacteristicDefinition(
                    .magneticFluxDensity2D, .read, value: MagneticFluxDensity2D(xMicroteslas: 20, yMicroteslas: -5)),
                CharacteristicDefinition(BluetoothUUID(0xFF01), .read, value: [1]),
            ])
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        return (EnvironmentalSensing(peripheral), grip)
    }

    @Test func `every sensor is listed and read`() async throws {
        let (station, _) = try await station()
        var read: [String: [EnvironmentalValue]] = [:]
        for sensor in try await station.sensors() {
            read[try #require(sensor.quantity).name, default: []].append(try await sensor.value())
        }
        #expect(
            read == [
                "Temperature": [.number(21.5), .number(-3.25)], "Pressure": [.number(101_325)],
                "Humidity": [.number(nil)], "Particulate Matter - PM2.5 Concentration": [.number(nil)],
                "Barometric Pressure Trend": [.pressureTrend(.steady)],
                "Magnetic Flux Density - 2D": [
                    .magneticFluxDensity2D(MagneticFluxDensity2D(xMicroteslas: 20, yMicroteslas: -5))
                ],
            ])
    }

    @Test func `two sensors of a kind are distinguished`() async throws {
        let (station, grip) = try await station()
        let sensors = try await station.sensors(of: .temperature)
        #expect(sensors.count == 2)
        #expect(try await sensors[0].measurement()?.application == .indoor)
        #expect(try await sensors[1].measurement()?.application == .outdoor)
        #expect(try await sensors[1].userDescription() == "outdoor")
        #expect(try await sensors[0].presentationFormat() == nil)
        #expect(try await sensors[0].value() == 21.5)
        #expect(try await sensors[1].value() == -3.25)
        var values = try await sensors[1].values().makeAsyncIterator()
        #expect(await grip.subscriberCount(of: BluetoothUUID(0x2A6E)) == 1)
        await grip.notify([0x00, 0x80], from: BluetoothUUID(0x2A6E))
        #expect(try await values.next() == .some(nil))
    }

    @Test func `each trigger is read and set by itself`() async throws {
        let (station, _) = try await station()
        let sensors = try await station.sensors(of: .temperature)
        #expect(try await sensors[0].triggers() == [.every(seconds: 60), .greater(than: 30)])
        try await sensors[0].setTrigger(.less(than: nil), at: 1)
        #expect(try await sensors[0].triggers() == [.every(seconds: 60), .less(than: nil)])
        #expect(try await sensors[1].triggers() == [.every(seconds: 60), .greater(than: 30)])
        await expectError(.invalidArgument) { try await sensors[0].setTrigger(.changed, at: 2) }
        await expectError(.invalidArgument) { try await sensors[0].setTrigger(.changed, at: -1) }
        await expectError(.invalidValue) { try await sensors[0].setTrigger(.every(seconds: -1)) }
        #expect(try await sensors[1].triggerLogic() == .or)
        try await sensors[1].setTriggerLogic(.and)
        #expect(try await sensors[1].triggerLogic() == .and)
    }

    @Test func `the range of a sensor is read`() async throws {
        let (station, _) = try await station()
        let sensors = try await station.sensors(of: .temperature)
        #expect(try await sensors[0].validRange() == ValidRange(-40, 75))
    }

    @Test func `what a sensor does not say is nil`() async throws {
        let (station, _) = try await station()
        let sensor = try #require(try await station.sensors(of: .pressure).first)
        #expect(try await sensor.measurement() == nil)
        #expect(try await sensor.triggers() == [])
        #expect(try await sensor.triggerLogic() == nil)
        #expect(try await sensor.validRange() == nil)
        #expect(try await sensor.userDescription() == nil)
        await expectError(.invalidArgument) { try await sensor.setTrigger(.changed) }
        await expectError(.notSupported) { try await sensor.values() }
        await expectError(.characteristicNotFound) { try await sensor.setTriggerLogic(.and) }
        #expect(try await station.sensors(of: .rainfall).isEmpty)
    }

    @Test func `a malformed descriptor says where it is`() async throws {
        let service = ServiceDefinition(
            .environmentalSensing,
            characteristics: [
                try CharacteristicDefinition(
                    .dewPoint, .read, value: 3,
                    descriptors: [
                        DescriptorDefinition(BluetoothUUID(0x290C), value: [1]),
                        DescriptorDefinition(Self.trigger, value: [3, 3]),
                    ])
            ])
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        let sensor = try #require(try await EnvironmentalSensing(peripheral).sensors(of: .dewPoint).first)
        for error in [
            await expectError(.invalidValue) { try await sensor.measurement() },
            await expectError(.invalidValue) { try await sensor.triggers() },
        ] {
            #expect(error?.peripheral == peripheral.id)
            #expect(error?.characteristic == BluetoothUUID(0x2A7B))
        }
    }

    @Test func `changes to descriptors are reported`() async throws {
        let (station, grip) = try await station()
        var changes = try await station.descriptorChanges().makeAsyncIterator()
        await grip.notify([0x02, 0x00, 0x6E, 0x2A], from: BluetoothUUID(0x2A7D))
        #expect(try await changes.next() == EnvironmentalDescriptorChange(.triggers, of: BluetoothUUID(0x2A6E)))
    }

    @Test func `a thing without the service says so`() async throws {
        let (thing, _) = try await world.add(.battery())
        let error = await expectError(.serviceNotFound) { try await EnvironmentalSensing(thing).sensors() }
        #expect(error?.missingUUIDs == [.environmentalSensing])
    }
}
