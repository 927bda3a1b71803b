import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct HealthThermometerTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 15, minute: 18, second: 54)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 15, 18, 54]

    @Test(
        arguments: [
            ([0x00, 0x6C, 0x01, 0x00, 0xFF], TemperatureMeasurement(temperature: 36.4)),
            ([0x01, 0xDA, 0x03, 0x00, 0xFF], TemperatureMeasurement(temperature: 98.6, unit: .fahrenheit)),
            (
                [0x02, 0x4C, 0x0E, 0x00, 0xFE] + timeBytes,
                TemperatureMeasurement(temperature: MedFloat32(rawValue: 0xFE00_0E4C), timeStamp: time)
            ),
            ([0x04, 0x6C, 0x01, 0x00, 0xFF, 6], TemperatureMeasurement(temperature: 36.4, type: .mouth)),
            (
                [0x07, 0xDA, 0x03, 0x00, 0xFF] + timeBytes + [9],
                TemperatureMeasurement(temperature: 98.6, unit: .fahrenheit, timeStamp: time, type: .tympanum)
            ),
            ([0x00, 0xFF, 0xFF, 0x7F, 0x00], TemperatureMeasurement(temperature: .nan)),
            ([0x00, 0x02, 0x00, 0x80, 0x00], TemperatureMeasurement(temperature: .negativeInfinity)),
        ] as [([UInt8], TemperatureMeasurement)])
    func `the bytes spell the measurement`(_ bytes: [UInt8], _ measurement: TemperatureMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try TemperatureMeasurement(bytes: bytes + [1, 2]) == measurement)
        #expect(try TemperatureMeasurement(bytes: [bytes[0] | 0xF8] + bytes.dropFirst()) == measurement)
    }

    @Test func `Fahrenheit is kept and known in Celsius`() {
        #expect(TemperatureMeasurement(temperature: 98.6, unit: .fahrenheit).celsius == 37)
        #expect(TemperatureMeasurement(temperature: 32, unit: .fahrenheit).celsius == 0)
        #expect(TemperatureMeasurement(temperature: 98.2, unit: .fahrenheit).celsius == 36.78)
        #expect(TemperatureMeasurement(temperature: 98, unit: .fahrenheit).celsius == 36.7)
        for bits in [0x8000_0001, 0x807F_FFFD, 0x7F7F_FFFD, 0x7F80_0003, 0xF57F_FFFD] as [UInt32] {
            let far = TemperatureMeasurement(temperature: MedFloat32(rawValue: bits), unit: .fahrenheit)
            let exact = (far.temperature.doubleValue - 32) * 5 / 9
            #expect(abs(far.celsius - exact) <= abs(exact) * 1e-6)
        }
        #expect(TemperatureMeasurement(temperature: 36.4).celsius == 36.4)
        #expect(TemperatureMeasurement(temperature: .nan, unit: .fahrenheit).celsius.isNaN)
        #expect(TemperatureMeasurement(temperature: .infinity, unit: .fahrenheit).celsius == .infinity)
    }

    @Test func `an impossible time is not a measurement`() async {
        await expectError(.invalidValue) {
            try TemperatureMeasurement(bytes: [0x02, 0, 0, 0, 0, 0xEA, 0x07, 13, 1, 0, 0, 0])
        }
    }

    private func thermometer(
        _ characteristics: [CharacteristicDefinition]
    ) async throws -> (HealthThermometer, SimulatedPeripheral, SimulatedWorld) {
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50, serviceUUIDs: [.healthThermometer]),
                services: [ServiceDefinition(.healthThermometer, characteristics: characteristics)]))
        return (HealthThermometer(peripheral), grip, world)
    }

    @Test func `measurements and what is shown meanwhile arrive`() async throws {
        let (thermometer, grip, _) = try await thermometer([
            CharacteristicDefinition(BluetoothUUID(0x2A1C), .indicate),
            CharacteristicDefinition(BluetoothUUID(0x2A1E), .notify),
        ])
        var measurements = try await thermometer.measurements().makeAsyncIterator()
        var shown = try await thermometer.intermediateTemperatures().makeAsyncIterator()
        let values = [36.1, 36.4].map { TemperatureMeasurement(temperature: MedFloat32($0), type: .ear) }
        await grip.notify(try values[0].encoded(), from: BluetoothUUID(0x2A1E))
        await grip.notify(try values[1].encoded(), from: BluetoothUUID(0x2A1C))
        #expect(try await shown.next() == values[0])
        #expect(try await measurements.next() == values[1])
    }

    @Test func `type and interval are read and written`() async throws {
        let range = try MeasurementIntervalRange(seconds: 10...3600).encoded()
        #expect(range == [10, 0, 0x10, 0x0E])
        let (thermometer, grip, _) = try await thermometer([
            try CharacteristicDefinition(.temperatureType, .read, value: .finger),
            try CharacteristicDefinition(
                .measurementInterval, [.read, .write, .indicate], value: 300,
                descriptors: [DescriptorDefinition(BluetoothUUID(0x2906), value: range)]),
        ])
        #expect(try await thermometer.temperatureType() == .finger)
        #expect(try await thermometer.measurementIntervalSeconds() == 300)
        #expect(try await thermometer.validMeasurementIntervalSeconds() == 10...3600)
        var intervals = try await thermometer.measurementIntervalsSeconds().makeAsyncIterator()
        try await thermometer.setMeasurementInterval(seconds: 600)
        #expect(await grip.value(of: BluetoothUUID(0x2A21)) == [0x58, 0x02])
        await grip.notify([0x3C, 0], from: BluetoothUUID(0x2A21))
        _ = try await intervals.next()
    }

    @Test func `an interval that it does not take is refused`() async throws {
        let (thermometer, _, _) = try await thermometer([
            CharacteristicDefinition(
                BluetoothUUID(0x2A21), [.read, .write],
                onWrite: { (_, _) throws(ATTError) in throw .measurementIntervalOutOfRange })
        ])
        let error = await expectError(.attributeError) { try await thermometer.setMeasurementInterval(seconds: 1) }
        #expect(error?.attError == .measurementIntervalOutOfRange)
    }

    @Test func `what a thermometer does not have is nil, or said`() async throws {
        let (thermometer, _, _) = try await thermometer([
            CharacteristicDefinition(BluetoothUUID(0x2A1C), .indicate),
            try CharacteristicDefinition(.measurementInterval, .indicate, value: 0),
        ])
        #expect(try await thermometer.temperatureType() == nil)
        #expect(try await thermometer.measurementIntervalSeconds() == nil)
        #expect(try await thermometer.validMeasurementIntervalSeconds() == nil)
        await expectError(.characteristicNotFound) { try await thermometer.intermediateTemperatures() }
    }

    @Test func `a range that begins after its end is invalid`() async throws {
        let (thermometer, _, _) = try await thermometer([
            try CharacteristicDefinition(
                .measurementInterval, .read, value: 0,
                descriptors: [DescriptorDefinition(BluetoothUUID(0x2906), value: [2, 0, 1, 0])])
        ])
        let error = await expectError(.invalidValue) { try await thermometer.validMeasurementIntervalSeconds() }
        #expect(error?.characteristic == BluetoothUUID(0x2A21))
        try await checkSpelling([1, 0, 1, 0], MeasurementIntervalRange(seconds: 1...1))
    }
}
