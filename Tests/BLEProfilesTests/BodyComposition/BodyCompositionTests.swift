import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BodyCompositionTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 7)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 7, 0, 0]

    private static func measurement(
        _ fat: Double? = 21.5, units: MeasurementSystem = .metric, isPart: Bool = false,
        _ change: (inout BodyCompositionMeasurement) -> Void = { _ in }
    ) -> BodyCompositionMeasurement {
        var measurement = BodyCompositionMeasurement(bodyFatPercent: fat, units: units)
        measurement.isPart = isPart
        change(&measurement)
        return measurement
    }

    @Test(
        arguments: [
            ([0x00, 0x00, 0xD7, 0x00], measurement()),
            ([0x00, 0x00, 0xFF, 0xFF], measurement(nil)),
            ([0x02, 0x00, 0xD7, 0x00] + timeBytes, measurement { $0.timeStamp = time }),
            ([0x04, 0x00, 0xD7, 0x00, 0xFF], measurement { $0.user = .unknown }),
            ([0x08, 0x00, 0xD7, 0x00, 0x58, 0x1B], measurement { $0.basalMetabolismKilojoules = 7000 }),
            ([0x10, 0x00, 0xD7, 0x00, 0x8E, 0x01], measurement { $0.musclePercent = 39.8 }),
            ([0x20, 0x00, 0xD7, 0x00, 0xB0, 0x36], measurement { $0.muscleMass = 70 }),
            ([0x40, 0x00, 0xD7, 0x00, 0xB0, 0x36], measurement { $0.fatFreeMass = 70 }),
            ([0x80, 0x00, 0xD7, 0x00, 0xB0, 0x36], measurement { $0.softLeanMass = 70 }),
            ([0x00, 0x01, 0xD7, 0x00, 0xB0, 0x36], measurement { $0.bodyWaterMass = 70 }),
            ([0x00, 0x02, 0xD7, 0x00, 0x89, 0x13], measurement { $0.impedanceOhms = 500.1 }),
            ([0x00, 0x04, 0xD7, 0x00, 0xB0, 0x36], measurement { $0.weight = 70 }),
            ([0x00, 0x08, 0xD7, 0x00, 0xCC, 0x06], measurement { $0.height = 1.74 }),
            ([0x00, 0x10, 0xD7, 0x00], measurement(isPart: true)),
            (
                [0xFF, 0x1F, 0xD7, 0x00] + timeBytes
                    + [1, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0],
                measurement(units: .imperial, isPart: true) {
                    $0.timeStamp = time
                    $0.user = UserIndex(rawValue: 1)
                    $0.basalMetabolismKilojoules = 2
                    $0.musclePercent = 0.3
                    $0.muscleMass = 0.04
                    $0.fatFreeMass = 0.05
                    $0.softLeanMass = 0.06
                    $0.bodyWaterMass = 0.07
                    $0.impedanceOhms = 0.8
                    $0.weight = 0.09
                    $0.height = 1
                }
            ),
        ] as [([UInt8], BodyCompositionMeasurement)])
    func `the bytes spell the measurement`(_ bytes: [UInt8], _ measurement: BodyCompositionMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try BodyCompositionMeasurement(bytes: bytes + [1]) == measurement)
        #expect(try BodyCompositionMeasurement(bytes: [bytes[0], bytes[1] | 0xE0] + bytes.dropFirst(2)) == measurement)
    }

    @Test func `two parts are one measurement`() {
        var merger = BodyCompositionMerger()
        let first = Self.measurement(isPart: true) {
            $0.timeStamp = Self.time
            $0.muscleMass = 30
        }
        let second = Self.measurement(isPart: true) {
            $0.user = UserIndex(rawValue: 2)
            $0.basalMetabolismKilojoules = 7000
            $0.weight = 70
        }
        #expect(merger.add(first) == [])
        #expect(merger.pending == first)
        #expect(
            merger.add(second) == [
                Self.measurement {
                    $0.timeStamp = Self.time
                    $0.user = UserIndex(rawValue: 2)
                    $0.basalMetabolismKilojoules = 7000
                    $0.muscleMass = 30
                    $0.weight = 70
                }
            ])
        #expect(merger.pending == nil && merger.flush() == nil)
    }

    @Test func `a measurement that is whole passes as it is`() {
        var merger = BodyCompositionMerger()
        #expect(merger.add(Self.measurement()) == [Self.measurement()])
    }

    @Test(
        arguments: [
            measurement(20, isPart: true) { $0.weight = 70 },
            measurement(units: .imperial, isPart: true) { $0.height = 70 },
            measurement(isPart: true) { $0.weight = 71 },
            measurement(isPart: true) { $0.timeStamp = DateTime(year: 2025, month: 1, day: 1) },
            measurement(isPart: true) { $0.user = .unknown },
        ])
    func `parts that contradict each other stay apart`(_ other: BodyCompositionMeasurement) {
        let first = Self.measurement(isPart: true) {
            $0.weight = 70
            $0.timeStamp = Self.time
            $0.user = UserIndex(rawValue: 2)
        }
        var merger = BodyCompositionMerger()
        #expect(merger.add(first) == [])
        #expect(merger.add(other) == [first])
        #expect(merger.flush() == other)
    }

    @Test func `a part without its other half comes before what is whole`() {
        var merger = BodyCompositionMerger()
        let part = Self.measurement(isPart: true)
        #expect(merger.add(part) == [])
        #expect(merger.add(Self.measurement(30)) == [part, Self.measurement(30)])
    }

    @Test func `a feature says how fine it is`() async throws {
        let feature = BodyCompositionFeature(
            [.impedance, .height], massResolution: MassResolution(rawValue: 1),
            heightResolution: HeightResolution(rawValue: 2))
        try await checkSpelling([0x00, 0x0D, 0x01, 0], feature)
        #expect(feature.isSuperset(of: [.impedance, .height]) && !feature.contains(.weight))
        #expect(feature.massResolution.kilograms == 0.5 && feature.heightResolution.inches == 0.5)
    }

    @Test func `measurements arrive whole, and a part that the end of the link leaves is not lost`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .bodyComposition,
                        characteristics: [
                            CharacteristicDefinition(BluetoothUUID(0x2A9C), .indicate),
                            try CharacteristicDefinition(.bodyCompositionFeature, .read, value: .impedance),
                        ])
                ]))
        #expect(try await BodyComposition(peripheral).feature() == .impedance)
        try await peripheral.setConnectionPolicy(.maintained())
        var measurements = try await BodyComposition(peripheral).measurements().makeAsyncIterator()
        let parts = [
            Self.measurement(isPart: true) { $0.weight = 70 }, Self.measurement(isPart: true) { $0.height = 1.74 },
        ]
        for part in parts + [Self.measurement(30), parts[0]] {
            await grip.notify(try part.encoded(), from: BluetoothUUID(0x2A9C))
        }
        let whole = Self.measurement {
            $0.weight = 70
            $0.height = 1.74
        }
        #expect(try await measurements.next() == whole)
        #expect(try await measurements.next() == Self.measurement(30))
        await grip.dropLink()
        #expect(try await measurements.next() == parts[0])
    }

    @Test func `a part comes before the error that ends the stream`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .bodyComposition,
                        characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A9C), .indicate)])
                ]))
        var measurements = try await BodyComposition(peripheral).measurements().makeAsyncIterator()
        let part = Self.measurement(isPart: true) { $0.weight = 70 }
        await grip.notify(try part.encoded(), from: BluetoothUUID(0x2A9C))
        await grip.dropLink()
        #expect(try await measurements.next() == part)
        await expectError(.disconnected) { try await measurements.next() }
    }
}
