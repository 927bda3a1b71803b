import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BloodPressureTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 15, minute: 18, second: 54)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 15, 18, 54]
    private static let normal = BloodPressures(systolic: 120, diastolic: 80, meanArterial: 93)
    private static let normalBytes: [UInt8] = [120, 0, 80, 0, 93, 0]

    @Test(
        arguments: [
            ([0x00] + normalBytes, BloodPressureMeasurement(normal)),
            (
                [0x01, 0xA0, 0xF0, 0x6B, 0xF0, 0xFF, 0x07],
                BloodPressureMeasurement(BloodPressures(systolic: 16.0, diastolic: 10.7, unit: .kilopascals))
            ),
            ([0x02] + normalBytes + timeBytes, BloodPressureMeasurement(normal, timeStamp: time)),
            ([0x04] + normalBytes + [72, 0], BloodPressureMeasurement(normal, pulseRateBeatsPerMinute: 72)),
            ([0x08] + normalBytes + [3], BloodPressureMeasurement(normal, user: UserIndex(rawValue: 3))),
            ([0x08] + normalBytes + [0xFF], BloodPressureMeasurement(normal, user: .unknown)),
            (
                [0x10] + normalBytes + [0x26, 0],
                BloodPressureMeasurement(
                    normal, status: [.cuffTooLoose, .irregularPulse, .improperMeasurementPosition])
            ),
            (
                [0x1E] + normalBytes + timeBytes + [72, 0, 1, 0x09, 0],
                BloodPressureMeasurement(
                    normal, timeStamp: time, pulseRateBeatsPerMinute: 72, user: UserIndex(rawValue: 1),
                    status: [.bodyMovement, .pulseRateExceedsUpperLimit])
            ),
        ] as [([UInt8], BloodPressureMeasurement)])
    func `the bytes spell the measurement`(_ bytes: [UInt8], _ measurement: BloodPressureMeasurement) async throws {
        // 16.0 is shorter as 16.
        if measurement.pressures.unit == .kilopascals {
            let read = try BloodPressureMeasurement(bytes: bytes)
            #expect(read.pressures.systolic.doubleValue == 16 && read.pressures.diastolic.doubleValue == 10.7)
            try await checkSpelling(bytes, read)
        } else {
            try await checkSpelling(bytes, measurement)
        }
        #expect(try BloodPressureMeasurement(bytes: bytes + [9]).timeStamp == measurement.timeStamp)
    }

    @Test func `kilopascals are known in millimetres of mercury`() {
        #expect(PressureUnit.kilopascals.millimetersOfMercury(16) == 120)
        #expect(PressureUnit.millimetersOfMercury.millimetersOfMercury(120) == 120)
        #expect(PressureUnit.kilopascals.millimetersOfMercury(.nan).isNaN)
    }

    @Test func `an unknown user is not a user of the device`() {
        #expect(!UserIndex.unknown.isKnown && UserIndex(rawValue: 254).isKnown && UserIndex(rawValue: 0).isKnown)
    }

    @Test func `of a cuff pressure the first of three counts`() async throws {
        let bytes: [UInt8] = [0x06, 150, 0, 0xFF, 0x07, 0xFF, 0x07] + Self.timeBytes + [70, 0]
        try await checkSpelling(bytes, IntermediateCuffPressure(150, timeStamp: Self.time, pulseRateBeatsPerMinute: 70))
        #expect(try IntermediateCuffPressure(bytes: [0, 150, 0, 1, 0, 2, 0]) == IntermediateCuffPressure(150))
    }

    @Test(
        arguments: [
            ([0x40] + normalBytes, EnhancedBloodPressureDetails()),
            ([0x00] + normalBytes, EnhancedBloodPressureDetails(epoch: .year1900)),
            (
                [0x62] + normalBytes + [0, 0, 0, 0, 0x10, 0x0E, 0, 0],
                EnhancedBloodPressureDetails(
                    timeStamp: DateTime(year: 2000, month: 1, day: 1),
                    userFacingTime: DateTime(year: 2000, month: 1, day: 1, hour: 1))
            ),
            (
                [0x1E] + normalBytes + [0xFF, 0xFF, 0xFF, 0xFF, 72, 0, 2, 1, 0],
                EnhancedBloodPressureDetails(
                    timeStamp: DateTime(year: 2036, month: 2, day: 7, hour: 6, minute: 28, second: 15),
                    epoch: .year1900, pulseRateBeatsPerMinute: 72, user: UserIndex(rawValue: 2), status: .bodyMovement)
            ),
        ] as [([UInt8], EnhancedBloodPressureDetails)])
    func `enhanced values have two kinds of time`(
        _ bytes: [UInt8], _ details: EnhancedBloodPressureDetails
    ) async throws {
        try await checkSpelling(bytes, EnhancedBloodPressureMeasurement(Self.normal, details: details))
        let cuff = Array(bytes[..<3] + bytes[7...])
        try await checkSpelling(cuff, EnhancedIntermediateCuffPressure(120, details: details))
    }

    @Test(arguments: [
        DateTime(year: 1999, month: 12, day: 31), DateTime(year: 2137, month: 1, day: 1),
        DateTime(year: nil, month: 1, day: 1),
    ])
    func `a time that 32 bits cannot tell is not sent`(_ time: DateTime) async {
        let details = EnhancedBloodPressureDetails(userFacingTime: time)
        await expectError(.invalidValue) {
            try EnhancedBloodPressureMeasurement(Self.normal, details: details).encoded()
        }
    }

    @Test func `what a meter has is read and arrives`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .bloodPressure,
                        characteristics: [
                            CharacteristicDefinition(BluetoothUUID(0x2A35), .indicate),
                            CharacteristicDefinition(BluetoothUUID(0x2A36), .notify),
                            CharacteristicDefinition(BluetoothUUID(0x2B34), .indicate),
                            CharacteristicDefinition(BluetoothUUID(0x2B35), .notify),
                            try CharacteristicDefinition(
                                .bloodPressureFeature, .read, value: [.cuffFitDetection, .userFacingTime]),
                        ])
                ]))
        let meter = BloodPressure(peripheral)
        #expect(try await meter.feature() == BloodPressureFeature(rawValue: 0x0102))
        var measurements = try await meter.measurements().makeAsyncIterator()
        var cuff = try await meter.intermediateCuffPressures().makeAsyncIterator()
        var enhanced = try await meter.enhancedMeasurements().makeAsyncIterator()
        var enhancedCuff = try await meter.enhancedIntermediateCuffPressures().makeAsyncIterator()
        let measurement = BloodPressureMeasurement(Self.normal, timeStamp: Self.time)
        await grip.notify(try IntermediateCuffPressure(90).encoded(), from: BluetoothUUID(0x2A36))
        await grip.notify(try measurement.encoded(), from: BluetoothUUID(0x2A35))
        await grip.notify(try EnhancedIntermediateCuffPressure(91).encoded(), from: BluetoothUUID(0x2B35))
        await grip.notify(
            try EnhancedBloodPressureMeasurement(Self.normal).encoded(), from: BluetoothUUID(0x2B34))
        #expect(try await cuff.next() == IntermediateCuffPressure(90))
        #expect(try await measurements.next() == measurement)
        #expect(try await enhancedCuff.next() == EnhancedIntermediateCuffPressure(91))
        #expect(try await enhanced.next() == EnhancedBloodPressureMeasurement(Self.normal))
    }

    @Test func `a meter that shows nothing meanwhile says so`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .bloodPressure,
                        characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A35), .indicate)])
                ]))
        let meter = BloodPressure(peripheral)
        await expectError(.characteristicNotFound) { try await meter.intermediateCuffPressures() }
        await expectError(.characteristicNotFound) { try await meter.feature() }
        await expectError(.characteristicNotFound) { try await meter.enhancedMeasurements() }
    }
}
