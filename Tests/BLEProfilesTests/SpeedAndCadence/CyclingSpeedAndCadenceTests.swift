import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CyclingSpeedAndCadenceTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    @Test(
        arguments: [
            ([0x00], CSCMeasurement()),
            (
                [0x01, 0x01, 0x02, 0x03, 0x04, 0x00, 0x04],
                CSCMeasurement(wheelRevolutions: Revolutions(count: 0x0403_0201, lastEventSeconds: 1))
            ),
            (
                [0x02, 0x05, 0x01, 0xFF, 0xFF],
                CSCMeasurement(crankRevolutions: Revolutions(count: 261, lastEventSeconds: 65535.0 / 1024))
            ),
            (
                [0x03, 0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x02, 0xFF, 0xFF, 0x01, 0x00],
                CSCMeasurement(
                    wheelRevolutions: Revolutions(count: 0xFFFF_FFFF, lastEventSeconds: 0.5),
                    crankRevolutions: Revolutions(count: 0xFFFF, lastEventSeconds: 1.0 / 1024))
            ),
        ] as [([UInt8], CSCMeasurement)])
    func `the bytes spell the measurement`(_ bytes: [UInt8], _ measurement: CSCMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
    }

    @Test func `reserved flags and what they may announce are passed over`() throws {
        #expect(try CSCMeasurement(bytes: [0xFC, 1, 2, 3]) == CSCMeasurement())
    }

    @Test func `a feature is a set of flags, of which reserved ones are kept`() async throws {
        try await checkSpelling([0x05, 0x00], [.wheelRevolutions, .multipleSensorLocations] as CSCFeature)
        try await checkSpelling([0x02, 0x80], CSCFeature(rawValue: 0x8002))
    }

    @Test(arguments: [(0, .other), (4, .frontWheel), (12, .rearWheel), (16, .chainRing)] as [(UInt8, SensorLocation)])
    func `a sensor location is one byte`(_ byte: UInt8, _ location: SensorLocation) async throws {
        try await checkSpelling([byte], location)
    }

    /// A sensor that accepts counts, and the locations 4 and 12.
    private func sensor() async throws -> (CyclingSpeedAndCadence, SimulatedPeripheral) {
        let definition = PeripheralDefinition(
            .cyclingSpeedAndCadence,
            [
                CharacteristicDefinition(BluetoothUUID(0x2A5B), .notify),
                try CharacteristicDefinition(.cscFeature, .read, value: [.wheelRevolutions, .crankRevolutions]),
                try CharacteristicDefinition(.sensorLocation, .read, value: .rearWheel),
                .controlPoint(Characteristic.scControlPoint.uuid) { request in
                    switch request {
                    case [1, 0x04, 0x03, 0x02, 0x01], [3, 4], [3, 12]: [0x10, request[0], 1]
                    case [4]: [0x10, 4, 1, 4, 12]
                    case _ where request[0] == 3: [0x10, 3, 3]
                    default: [0x10, request[0], 2]
                    }
                },
            ])
        let (peripheral, grip) = try await world.add(definition)
        return (CyclingSpeedAndCadence(peripheral), grip)
    }

    @Test func `what the sensor says is read`() async throws {
        let (sensor, grip) = try await sensor()
        #expect(try await sensor.feature() == [.wheelRevolutions, .crankRevolutions])
        #expect(try await sensor.sensorLocation() == .rearWheel)
        var measurements = try await sensor.measurements().makeAsyncIterator()
        let sent = CSCMeasurement(crankRevolutions: Revolutions(count: 7, lastEventSeconds: 2))
        await grip.notify(try sent.encoded(), from: BluetoothUUID(0x2A5B))
        #expect(try await measurements.next() == sent)
    }

    @Test func `the control point does it, or says why not`() async throws {
        let (sensor, _) = try await sensor()
        try await sensor.setWheelRevolutions(0x0102_0304)
        #expect(try await sensor.supportedSensorLocations() == [.frontWheel, .rearWheel])
        try await sensor.updateSensorLocation(.frontWheel)
        let error = await expectError(.procedureFailed) { try await sensor.updateSensorLocation(.hip) }
        #expect(error?.result(SCControlPointResult.self) == .invalidOperand)
        let unknown = await expectError(.procedureFailed) { try await sensor.controlPoint.startSensorCalibration() }
        #expect(unknown?.result(SCControlPointResult.self) == .opCodeNotSupported)
    }

    @Test func `a sensor without a location or a control point says so`() async throws {
        let (thing, _) = try await world.add(
            PeripheralDefinition(
                .cyclingSpeedAndCadence, [CharacteristicDefinition(BluetoothUUID(0x2A5B), .notify)]))
        let sensor = CyclingSpeedAndCadence(thing)
        #expect(try await sensor.sensorLocation() == nil)
        await expectError(.characteristicNotFound) { try await sensor.setWheelRevolutions(0) }
    }
}
