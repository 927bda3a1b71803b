import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct PulseOximeterTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 15, minute: 18, second: 54)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 15, 18, 54]
    private static let value = OxygenSaturation(percent: 98, pulseRateBeatsPerMinute: 72)
    private static let valueBytes: [UInt8] = [98, 0, 72, 0]

    @Test(
        arguments: [
            ([0x00] + valueBytes, PLXSpotCheckMeasurement(value)),
            ([0x01] + valueBytes + timeBytes, PLXSpotCheckMeasurement(value, timeStamp: time)),
            (
                [0x02] + valueBytes + [0x00, 0x03],
                PLXSpotCheckMeasurement(value, measurementStatus: [.fullyQualified, .dataFromMeasurementStorage])
            ),
            (
                [0x04] + valueBytes + [0x20, 0x80, 0x00],
                PLXSpotCheckMeasurement(value, deviceStatus: [.lowPerfusion, .sensorDisconnected])
            ),
            ([0x08] + valueBytes + [0x17, 0xF0], PLXSpotCheckMeasurement(value, pulseAmplitudeIndexPercent: 2.3)),
            ([0x10] + valueBytes, PLXSpotCheckMeasurement(value, isClockSet: false)),
            (
                [0x1F] + valueBytes + timeBytes + [0x20, 0x00, 0xFF, 0xFF, 0xFF, 0x17, 0xF0],
                PLXSpotCheckMeasurement(
                    value, timeStamp: time, isClockSet: false, measurementStatus: .measurementOngoing,
                    deviceStatus: PLXDeviceStatus(rawValue: 0xFF_FFFF), pulseAmplitudeIndexPercent: 2.3)
            ),
            (
                [0x00, 0xFF, 0x07, 0x00, 0x08],
                PLXSpotCheckMeasurement(OxygenSaturation(percent: .nan, pulseRateBeatsPerMinute: .notAtThisResolution))
            ),
        ] as [([UInt8], PLXSpotCheckMeasurement)])
    func `the bytes spell the single measurement`(
        _ bytes: [UInt8], _ measurement: PLXSpotCheckMeasurement
    ) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try PLXSpotCheckMeasurement(bytes: bytes + [1]) == measurement)
        #expect(try PLXSpotCheckMeasurement(bytes: [bytes[0] | 0xE0] + bytes.dropFirst()) == measurement)
    }

    @Test(
        arguments: [
            ([0x00] + valueBytes, PLXContinuousMeasurement(value)),
            (
                [0x01] + valueBytes + [97, 0, 80, 0],
                PLXContinuousMeasurement(value, fast: OxygenSaturation(percent: 97, pulseRateBeatsPerMinute: 80))
            ),
            (
                [0x02] + valueBytes + [97, 0, 80, 0],
                PLXContinuousMeasurement(value, slow: OxygenSaturation(percent: 97, pulseRateBeatsPerMinute: 80))
            ),
            ([0x04] + valueBytes + [0x80, 0], PLXContinuousMeasurement(value, measurementStatus: .validated)),
            (
                [0x08] + valueBytes + [1, 0, 0],
                PLXContinuousMeasurement(value, deviceStatus: .extendedDisplayUpdateOngoing)
            ),
            ([0x10] + valueBytes + [5, 0], PLXContinuousMeasurement(value, pulseAmplitudeIndexPercent: 5)),
            (
                [0x1F] + valueBytes + [96, 0, 71, 0, 95, 0, 70, 0, 0x80, 0, 1, 0, 0, 5, 0],
                PLXContinuousMeasurement(
                    value, fast: OxygenSaturation(percent: 96, pulseRateBeatsPerMinute: 71),
                    slow: OxygenSaturation(percent: 95, pulseRateBeatsPerMinute: 70), measurementStatus: .validated,
                    deviceStatus: .extendedDisplayUpdateOngoing, pulseAmplitudeIndexPercent: 5)
            ),
        ] as [([UInt8], PLXContinuousMeasurement)])
    func `the bytes spell the continuous measurement`(
        _ bytes: [UInt8], _ measurement: PLXContinuousMeasurement
    ) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try PLXContinuousMeasurement(bytes: bytes + [1]) == measurement)
        #expect(try PLXContinuousMeasurement(bytes: [bytes[0] | 0xE0] + bytes.dropFirst()) == measurement)
    }

    @Test(
        arguments: [
            ([0x4C, 0x00], PLXFeatures([.measurementStorage, .timeStamp, .pulseAmplitudeIndex])),
            ([0x01, 0x00, 0xE0, 0xFF], PLXFeatures(measurementStatus: PLXMeasurementStatus(rawValue: 0xFFE0))),
            (
                [0x82, 0x00, 0xFF, 0xFF, 0],
                PLXFeatures(.multipleBonds, deviceStatus: PLXDeviceStatus(rawValue: 0xFFFF))
            ),
            (
                [0x33, 0x00, 0x20, 0x00, 1, 0, 0],
                PLXFeatures(
                    [.fast, .slow], measurementStatus: .measurementOngoing, deviceStatus: .extendedDisplayUpdateOngoing)
            ),
        ] as [([UInt8], PLXFeatures)])
    func `the bytes spell the features`(_ bytes: [UInt8], _ features: PLXFeatures) async throws {
        try await checkSpelling(bytes, features)
    }

    @Test func `a status of more than 24 bits is not written`() async {
        await expectError(.invalidValue) {
            try PLXContinuousMeasurement(Self.value, deviceStatus: PLXDeviceStatus(rawValue: 0x100_0000)).encoded()
        }
    }

    private func oximeter(
        onRequest: @escaping RecordDevice.RequestHandler
    ) async throws -> (RecordDevice, PulseOximeter) {
        let (device, peripheral) = try await RecordDevice.make(
            SimulatedWorld(), .pulseOximeter, sending: [BluetoothUUID(0x2A5E), BluetoothUUID(0x2A5F)],
            others: [try CharacteristicDefinition(.plxFeatures, .read, value: PLXFeatures(.measurementStorage))],
            onRequest: onRequest)
        return (device, PulseOximeter(peripheral))
    }

    @Test func `stored measurements are counted, read and deleted`() async throws {
        let stored = (0..<3).map {
            PLXSpotCheckMeasurement(OxygenSaturation(percent: MedFloat16(Double(95 + $0)), pulseRateBeatsPerMinute: 60))
        }
        let (device, oximeter) = try await oximeter { device, request in
            switch request.opcode {
            case .reportRecordCount: try await device.answer(.recordCount(3))
            case .reportRecords:
                for measurement in stored { try await device.send(measurement, from: .plxSpotCheckMeasurement) }
                try await device.answer(request, .success)
            default: try await device.answer(request, .success)
            }
        }
        #expect(try await oximeter.features().supported == .measurementStorage)
        #expect(try await oximeter.storedSpotCheckCount() == 3)
        #expect(try await oximeter.storedSpotChecks() == stored)
        try await oximeter.deleteStoredSpotChecks()
        await device.untilUnsubscribed([BluetoothUUID(0x2A5E)])
        #expect(
            device.requests.value == [
                RecordAccessMessage(.reportRecordCount, .all), RecordAccessMessage(.reportRecords, .all),
                RecordAccessMessage(.deleteRecords, .all),
            ])
    }

    @Test func `what is measured arrives`() async throws {
        let (device, oximeter) = try await oximeter { _, _ in }
        var spotChecks = try await oximeter.spotChecks().makeAsyncIterator()
        var continuous = try await oximeter.continuousMeasurements().makeAsyncIterator()
        try await device.send(PLXSpotCheckMeasurement(Self.value), from: .plxSpotCheckMeasurement)
        try await device.send(PLXContinuousMeasurement(Self.value), from: .plxContinuousMeasurement)
        #expect(try await spotChecks.next() == PLXSpotCheckMeasurement(Self.value))
        #expect(try await continuous.next() == PLXContinuousMeasurement(Self.value))
    }
}
