import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct WeightScaleTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 7)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 7, 0, 0]

    @Test(
        arguments: [
            ([0x00, 0xB0, 0x36], WeightMeasurement(weight: 70)),
            ([0x00, 0x01, 0x00], WeightMeasurement(weight: 0.005)),
            ([0x01, 0x39, 0x3C], WeightMeasurement(weight: 154.17, units: .imperial)),
            ([0x02, 0xB0, 0x36] + timeBytes, WeightMeasurement(weight: 70, timeStamp: time)),
            ([0x04, 0xB0, 0x36, 2], WeightMeasurement(weight: 70, user: UserIndex(rawValue: 2))),
            ([0x04, 0xB0, 0x36, 0xFF], WeightMeasurement(weight: 70, user: .unknown)),
            (
                [0x08, 0xB0, 0x36, 0xE7, 0x00, 0xCC, 0x06],
                WeightMeasurement(weight: 70, proportion: .init(bodyMassIndex: 23.1, height: 1.74))
            ),
            (
                [0x0F, 0x39, 0x3C] + timeBytes + [0, 0xE7, 0x00, 0xAD, 0x02],
                WeightMeasurement(
                    weight: 154.17, units: .imperial, timeStamp: time, user: UserIndex(rawValue: 0),
                    proportion: .init(bodyMassIndex: 23.1, height: 68.5))
            ),
            ([0x00, 0xFF, 0xFF], WeightMeasurement(weight: nil)),
            ([0x00, 0xFE, 0xFF], WeightMeasurement(weight: 327.67)),
        ] as [([UInt8], WeightMeasurement)])
    func `the bytes spell the weight`(_ bytes: [UInt8], _ measurement: WeightMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try WeightMeasurement(bytes: bytes + [1]) == measurement)
        #expect(try WeightMeasurement(bytes: [bytes[0] | 0xF0] + bytes.dropFirst()) == measurement)
    }

    @Test func `pounds and inches are known in kilograms and metres`() {
        #expect(WeightMeasurement(weight: 100, units: .imperial).kilograms == 45.359)
        #expect(WeightMeasurement(weight: 70).kilograms == 70)
        #expect(WeightMeasurement(weight: nil).kilograms == nil)
        #expect(MeasurementSystem.imperial.meters(100) == 2.54)
        #expect(MeasurementSystem.metric.meters(1.74) == 1.74)
    }

    @Test(arguments: [327.675, 400, -1, .nan, .infinity])
    func `a weight that two bytes cannot tell is not written`(_ weight: Double) async {
        await expectError(.invalidValue) { try WeightMeasurement(weight: weight).encoded() }
    }

    @Test func `a feature says how fine it is`() async throws {
        let feature = WeightScaleFeature(
            [.timeStamp, .multipleUsers], massResolution: MassResolution(rawValue: 7),
            heightResolution: HeightResolution(rawValue: 3))
        try await checkSpelling([0xBB, 0x01, 0, 0], feature)
        #expect(feature.isSuperset(of: [.timeStamp, .multipleUsers]) && !feature.contains(.bodyMassIndex))
        #expect(feature.massResolution.kilograms == 0.005 && feature.massResolution.pounds == 0.01)
        #expect(feature.heightResolution.meters == 0.001 && feature.heightResolution.inches == 0.1)
        let silent = try WeightScaleFeature(bytes: [0, 0, 0, 0])
        #expect(silent.massResolution == .notSpecified && silent.heightResolution == .notSpecified)
        #expect(silent.massResolution.kilograms == nil && silent.heightResolution.meters == nil)
        let reserved = try WeightScaleFeature(bytes: [0xF8, 0xFF, 0xFF, 0xFF])
        #expect(reserved.massResolution.pounds == nil && reserved.heightResolution.inches == nil)
    }

    @Test func `what a scale has is read and arrives`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .weightScale,
                        characteristics: [
                            CharacteristicDefinition(BluetoothUUID(0x2A9D), .indicate),
                            try CharacteristicDefinition(.weightScaleFeature, .read, value: .bodyMassIndex),
                        ])
                ]))
        let scale = WeightScale(peripheral)
        #expect(try await scale.feature() == .bodyMassIndex)
        var measurements = try await scale.measurements().makeAsyncIterator()
        await grip.notify([0x00, 0xB0, 0x36], from: BluetoothUUID(0x2A9D))
        #expect(try await measurements.next()?.kilograms == 70)
        await expectError(.serviceNotFound) { try await BodyComposition(peripheral).measurements() }
    }
}
