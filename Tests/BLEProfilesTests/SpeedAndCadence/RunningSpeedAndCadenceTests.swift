import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct RunningSpeedAndCadenceTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    @Test(
        arguments: [
            ([0x00, 0x80, 0x02, 0x50], RSCMeasurement(speedMetersPerSecond: 2.5, cadencePerMinute: 80)),
            (
                [0x01, 0x00, 0x01, 0xFF, 0x6E, 0x00],
                RSCMeasurement(speedMetersPerSecond: 1, cadencePerMinute: 255, strideLengthMeters: 1.1)
            ),
            (
                [0x02, 0xFF, 0xFF, 0x00, 0x15, 0xCD, 0x5B, 0x07],
                RSCMeasurement(
                    speedMetersPerSecond: 65535.0 / 256, cadencePerMinute: 0, totalDistanceMeters: 12_345_678.9)
            ),
            ([0x04, 0, 0, 0], RSCMeasurement(speedMetersPerSecond: 0, cadencePerMinute: 0, isRunning: true)),
            (
                [0x07, 0x00, 0x03, 0xB4, 0x82, 0x00, 0x0A, 0x00, 0x00, 0x00],
                RSCMeasurement(
                    speedMetersPerSecond: 3, cadencePerMinute: 180, strideLengthMeters: 1.3, totalDistanceMeters: 1,
                    isRunning: true)
            ),
        ] as [([UInt8], RSCMeasurement)])
    func `the bytes spell the measurement`(_ bytes: [UInt8], _ measurement: RSCMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
    }

    @Test func `reserved flags and what they may announce are passed over`() throws {
        #expect(
            try RSCMeasurement(bytes: [0xF8, 0x00, 0x01, 9, 1, 2])
                == RSCMeasurement(speedMetersPerSecond: 1, cadencePerMinute: 9))
    }

    @Test(arguments: [-1, 256, .nan, .infinity]) func `a speed that no field holds is not written`(_ speed: Double)
        async
    {
        await expectError(.invalidValue) {
            try RSCMeasurement(speedMetersPerSecond: speed, cadencePerMinute: 0).encoded()
        }
    }

    @Test func `a feature is a set of flags`() async throws {
        try await checkSpelling([0x19, 0x00], [.strideLength, .calibration, .multipleSensorLocations] as RSCFeature)
    }

    /// A sensor that can be calibrated and accepts one distance.
    private func sensor() async throws -> (RunningSpeedAndCadence, SimulatedPeripheral) {
        let definition = PeripheralDefinition(
            .runningSpeedAndCadence,
            [
                CharacteristicDefinition(BluetoothUUID(0x2A53), .notify),
                try CharacteristicDefinition(.rscFeature, .read, value: .calibration),
                try CharacteristicDefinition(.sensorLocation, .read, value: .inShoe),
                .controlPoint(Characteristic.scControlPoint.uuid) { request in
                    switch request {
                    case [1, 0xD2, 0x04, 0, 0], [2], [3, 2]: [0x10, request[0], 1]
                    case [4]: [0x10, 4, 1, 1, 2]
                    default: [0x10, request[0], 4]
                    }
                },
            ])
        let (peripheral, grip) = try await world.add(definition)
        return (RunningSpeedAndCadence(peripheral), grip)
    }

    @Test func `what the sensor says is read`() async throws {
        let (sensor, grip) = try await sensor()
        #expect(try await sensor.feature() == .calibration)
        #expect(try await sensor.sensorLocation() == .inShoe)
        var measurements = try await sensor.measurements().makeAsyncIterator()
        await grip.notify([0x04, 0x00, 0x03, 0x5A], from: BluetoothUUID(0x2A53))
        #expect(
            try await measurements.next()
                == RSCMeasurement(speedMetersPerSecond: 3, cadencePerMinute: 90, isRunning: true))
    }

    @Test func `the control point does it, or says why not`() async throws {
        let (sensor, _) = try await sensor()
        try await sensor.setTotalDistance(meters: 123.4)
        try await sensor.startSensorCalibration()
        try await sensor.updateSensorLocation(.inShoe)
        #expect(try await sensor.supportedSensorLocations() == [.topOfShoe, .inShoe])
        let error = await expectError(.procedureFailed) { try await sensor.setTotalDistance(meters: 1) }
        #expect(error?.result(SCControlPointResult.self) == .operationFailed)
        #expect(error?.message.contains("operation failed") == true)
    }

    @Test(arguments: [-0.1, 429_496_729.6, .nan, .infinity])
    func `a distance that cannot be counted is not sent`(_ meters: Double) async throws {
        let (sensor, _) = try await sensor()
        await expectError(.invalidArgument) { try await sensor.setTotalDistance(meters: meters) }
    }
}
