import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct FitnessMachineTests {
    private let world: SimulatedWorld
    private let requests = SharedValue<[[UInt8]]>([])

    init() async throws { world = try await SimulatedWorld() }

    private func machine(_ characteristics: [CharacteristicDefinition]) async throws -> (
        FitnessMachine, SimulatedPeripheral
    ) {
        let (peripheral, grip) = try await world.add(PeripheralDefinition(.fitnessMachine, characteristics))
        return (FitnessMachine(peripheral), grip)
    }

    /// A machine that answers with `result` and `parameter` to a central that has requested control.
    private func controllable(_ result: UInt8 = 1, _ parameter: [UInt8] = []) async throws -> FitnessMachine {
        let requests = requests
        let controlPoint = CharacteristicDefinition.controlPoint(Characteristic.fitnessMachineControlPoint.uuid) {
            request in
            let isPermitted = requests.change { requests in
                requests.append(request)
                return requests.contains([0])
            }
            guard let request = try? FitnessMachineRequest(bytes: request) else { return nil }
            guard isPermitted else { return request.response(.controlNotPermitted) }
            guard request != .requestControl else { return request.response(.success) }
            return request.response(FitnessMachineResult(rawValue: result), parameter: parameter)
        }
        return try await machine([controlPoint]).0
    }

    private let bike = BluetoothUUID(0x2AD2)

    @Test func `what the machine says of itself is read`() async throws {
        let feature = FitnessMachineFeature(measurements: .power, targets: [.power, .resistanceLevel])
        let range = SupportedResistanceLevelRange(minimum: 0, maximum: 10, increment: 0.1, edition: .first)
        let machine = try await machine([
            try CharacteristicDefinition(.fitnessMachineFeature, .read, value: feature),
            try CharacteristicDefinition(
                .supportedPowerRange, .read,
                value: SupportedPowerRange(minimumWatts: 0, maximumWatts: 2000, incrementWatts: 1)),
            try CharacteristicDefinition(.supportedResistanceLevelRange, .read, value: range),
            try CharacteristicDefinition(
                .trainingStatus, [.read, .notify], value: TrainingStatus(.idle, text: "Bereit")),
        ]).0
        #expect(try await machine.feature() == feature)
        #expect(try await machine.supportedPowers()?.maximumWatts == 2000)
        #expect(try await machine.supportedResistanceLevels() == range)
        #expect(try await machine.trainingStatus()?.text == "Bereit")
        #expect(try await machine.supportedSpeeds() == nil)
        #expect(try await machine.supportedInclinations() == nil)
        #expect(try await machine.supportedHeartRates() == nil)
    }

    @Test func `records come whole, whether or not they come in parts`() async throws {
        let (machine, grip) = try await machine([CharacteristicDefinition(bike, .notify)])
        var records = try await machine.records(of: .indoorBikeData).makeAsyncIterator()
        for part in [[0x41, 0, 100, 0], [0x01, 0x02, 80], [0x00, 0, 0xE8, 3], [0x40, 0, 0xD0, 7, 101, 0]] as [[UInt8]] {
            await grip.notify(part, from: bike)
        }
        var record = try #require(try await records.next())
        #expect(record.powerWatts == 100)
        #expect(record.heartRateBeatsPerMinute == 80)
        #expect(record.speedKilometersPerHour == 10)
        #expect(!record.hasMoreData)
        record = try #require(try await records.next())
        #expect(record.powerWatts == 101)
        #expect(record.heartRateBeatsPerMinute == nil)
    }

    @Test func `an invalid part ends its record, but not the stream`() async throws {
        let (machine, grip) = try await machine([CharacteristicDefinition(bike, .notify)])
        var records = try await machine.records(of: .indoorBikeData).makeAsyncIterator()
        for part in [[0x41, 0, 100, 0], [0x41, 0, 7], [0x00, 0, 0xE8, 3]] as [[UInt8]] {
            await grip.notify(part, from: bike)
        }
        await expectError(.invalidValue) { try await records.next() }
        let record = try await records.next()
        #expect(record?.powerWatts == nil)
        #expect(record?.speedKilometersPerHour == 10)
    }

    @Test func `a record that a gap of the link has cut is dropped`() async throws {
        let subscriptions = SharedValue(0)
        let characteristic = CharacteristicDefinition(
            bike, .notify,
            onSubscribe: { notifier in
                let count = subscriptions.change { count in
                    count += 1
                    return count
                }
                if count == 2 { await notifier.notify([0x00, 0, 0xE8, 3]) }
            })
        let (machine, grip) = try await machine([characteristic])
        try await machine.peripheral.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .zero, factor: 1, maximum: .zero)))
        var records = try await machine.records(of: .indoorBikeData).makeAsyncIterator()
        var parts = try await machine.service.notifications(.indoorBikeData).makeAsyncIterator()
        await grip.notify([0x41, 0, 100, 0], from: bike)
        #expect(try await parts.next()?.powerWatts == 100)
        await grip.dropLink()
        let record = try await records.next()
        #expect(record?.speedKilometersPerHour == 10)
        #expect(record?.powerWatts == nil)
    }

    @Test func `a machine of another kind says so`() async throws {
        let (machine, _) = try await machine([CharacteristicDefinition(bike, .notify)])
        await expectError(.characteristicNotFound) { try await machine.records(of: .rowerData) }
        await expectError(.characteristicNotFound) { try await machine.requestControl() }
    }

    @Test func `what happens to the machine comes as it happens`() async throws {
        let uuid = BluetoothUUID(0x2ADA)
        let (machine, grip) = try await machine([
            CharacteristicDefinition(uuid, .notify), CharacteristicDefinition(BluetoothUUID(0x2AD3), .notify),
        ])
        var statuses = try await machine.statuses().makeAsyncIterator()
        await grip.notify([0x02, 2], from: uuid)
        await grip.notify([0xFF], from: uuid)
        #expect(try await statuses.next() == .paused)
        #expect(try await statuses.next() == .controlPermissionLost)
        var trainings = try await machine.trainingStatuses().makeAsyncIterator()
        await grip.notify([0, 2], from: BluetoothUUID(0x2AD3))
        #expect(try await trainings.next() == TrainingStatus(.warmingUp))
        #expect(try await machine.trainingStatus() == nil)
    }

    @Test func `control is asked for first, and then procedures are sent as the specification spells them`()
        async throws
    {
        let control = try await controllable().requestControl()
        try await control.setTargetSpeed(kilometersPerHour: 10)
        try await control.setTargetInclination(percent: -1.5)
        try await control.setTargetResistanceLevel(4.5)
        try await control.setTargetResistanceLevel(30, isWide: true)
        try await control.setTargetPower(watts: 300)
        try await control.setTargetHeartRate(beatsPerMinute: 130)
        try await control.startOrResume()
        try await control.stop()
        try await control.pause()
        try await control.setTargetedExpendedEnergy(kilocalories: 300)
        try await control.setTargetedStepCount(1000)
        try await control.setTargetedStrideCount(500)
        try await control.setTargetedDistance(meters: 100_000)
        try await control.setTargetedTrainingTime(seconds: 3600)
        try await control.setTargetedTimes(.two(fatBurnSeconds: 1, fitnessSeconds: 2))
        try await control.setTargetedTimes(.three(lightSeconds: 1, moderateSeconds: 2, hardSeconds: 3))
        try await control.setTargetedTimes(
            .five(veryLightSeconds: 1, lightSeconds: 2, moderateSeconds: 3, hardSeconds: 4, maximumSeconds: 5))
        try await control.setIndoorBikeSimulation(IndoorBikeSimulation(windMetersPerSecond: 1, gradePercent: -0.03))
        try await control.setWheelCircumference(millimeters: 2105)
        try await control.ignoreSpinDown()
        try await control.setTargetedCadence(perMinute: 90.5)
        try await control.reset()
        let sent: [[UInt8]] = [
            [0], [2, 0xE8, 3], [3, 0xF1, 0xFF], [4, 45], [4, 0x2C, 1], [5, 0x2C, 1], [6, 130], [7], [8, 1], [8, 2],
            [9, 0x2C, 1], [0x0A, 0xE8, 3], [0x0B, 0xF4, 1], [0x0C, 0xA0, 0x86, 1], [0x0D, 0x10, 0x0E],
            [0x0E, 1, 0, 2, 0], [0x0F, 1, 0, 2, 0, 3, 0], [0x10, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0],
            [0x11, 0xE8, 3, 0xFD, 0xFF, 0x28, 0x33], [0x12, 0x3A, 0x52], [0x13, 2], [0x14, 0xB5, 0], [1],
        ]
        #expect(requests.value == sent)
    }

    @Test(
        arguments: [
            (2, .opCodeNotSupported), (3, .invalidParameter), (4, .operationFailed), (5, .controlNotPermitted),
            (9, FitnessMachineResult(rawValue: 9)),
        ] as [(UInt8, FitnessMachineResult)])
    func `a procedure that fails says why`(_ byte: UInt8, _ result: FitnessMachineResult) async throws {
        let control = try await controllable(byte).requestControl()
        let error = await expectError(.procedureFailed) { try await control.setTargetPower(watts: 1) }
        #expect(error?.result(FitnessMachineResult.self) == result)
        #expect(error?.message.contains(result.meaning ?? "0x09") == true)
    }

    @Test func `control that was lost is asked for again`() async throws {
        let control = try await controllable().requestControl()
        requests.change { $0 = [] }
        let error = await expectError(.procedureFailed) { try await control.stop() }
        #expect(error?.result(FitnessMachineResult.self) == .controlNotPermitted)
        try await control.request()
        try await control.stop()
        #expect(requests.value == [[8, 1], [0], [8, 1]])
    }

    @Test func `a spin down has its speeds, or is not an answer`() async throws {
        let control = try await controllable(1, [0x20, 0x03, 0x08, 0x07]).requestControl()
        #expect(
            try await control.startSpinDown() == SpinDownTarget(lowKilometersPerHour: 8, highKilometersPerHour: 18))
        let mute = try await FitnessMachineTests().controllable().requestControl()
        let error = await expectError(.invalidValue) { try await mute.startSpinDown() }
        #expect(error?.characteristic == Characteristic.fitnessMachineControlPoint.uuid)
    }

    @Test func `what no field holds is not sent`() async throws {
        let control = try await controllable().requestControl()
        await expectError(.invalidArgument) { try await control.setTargetSpeed(kilometersPerHour: 655.36) }
        await expectError(.invalidArgument) { try await control.setTargetInclination(percent: .nan) }
        await expectError(.invalidArgument) { try await control.setTargetResistanceLevel(25.6) }
        await expectError(.invalidArgument) { try await control.setTargetResistanceLevel(3277, isWide: true) }
        await expectError(.invalidArgument) { try await control.setTargetPower(watts: 32768) }
        await expectError(.invalidArgument) { try await control.setTargetHeartRate(beatsPerMinute: 256) }
        await expectError(.invalidArgument) { try await control.setTargetedDistance(meters: 1 << 24) }
        await expectError(.invalidArgument) {
            try await control.setTargetedTimes(.two(fatBurnSeconds: -1, fitnessSeconds: 0))
        }
        await expectError(.invalidArgument) {
            try await control.setIndoorBikeSimulation(IndoorBikeSimulation(gradePercent: 400))
        }
        #expect(requests.value == [[0]])
    }
}
