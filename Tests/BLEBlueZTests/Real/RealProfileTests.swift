import BLE
import BLEBlueZ
import BLEProfiles
import BLETestSupport
import BlueZTestSupport
import Testing

/// The profiles on the real bluetoothd, with independently written services: bumble's own if it has them, otherwise
/// written from their specifications (Scripts/guest/peer/gauges.py). Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: Guest.isHere), .serialized, .inGuest, .hangLimit)
struct RealProfileTests {
    private let peer = RealPeer()

    /// The gauges, switched on, and the central that reads them.
    private func withGauges(_ check: (Peripheral) async throws -> Void) async throws {
        try await peer.reset()
        try await peer.tell("gauges on")
        let central = try await Central()
        do {
            let gauges = try await central.find(Peripheral.ID(rawValue: "F2:F3:F4:F5:F6:F7"))
            try await check(gauges)
        } catch {
            try await peer.tell("gauges off")
            await central.shutDown()
            throw error
        }
        // The gauges end their link at once, and bluetoothd takes 2 s.
        try await peer.tell("gauges off")
        await central.shutDown()
    }

    @Test func `heart rate, batteries and device information are what bumble's services say`() async throws {
        try await withGauges { gauges in
            let heart = HeartRate(gauges)
            #expect(try await heart.bodySensorLocation() == .earLobe)
            var beats = try await heart.measurements().makeAsyncIterator()
            try await peer.tell("gauges beat")
            #expect(
                try await beats.next() == HeartRateMeasurement(beatsPerMinute: 61, energyExpendedKilojoules: 500))
            try await heart.resetEnergyExpended()
            #expect(try await peer.ask("gauges energy") == "0")
            let refused = await expectError(.attributeError) {
                try await gauges.write(HeartRateCommand(rawValue: 7), to: .heartRateControlPoint)
            }
            #expect(refused?.attError == .heartRateControlPointNotSupported)

            let batteries = try await Battery.all(on: gauges)
            var levels: [PresentationFormat.Description?: UInt8] = [:]
            for battery in batteries { levels[try await battery.position()] = try await battery.level() }
            #expect(levels == [.left: 80, .right: 20])

            var expected = DeviceInformation()
            expected.manufacturerName = "ACME"
            expected.modelNumber = "Gauges"
            expected.serialNumber = "G-1"
            expected.hardwareRevision = "A"
            expected.firmwareRevision = "0.1"
            expected.softwareRevision = "0.2"
            expected.systemID = SystemID(manufacturer: 0x9A_BCDE_F012, organization: 0x12_3456)
            expected.regulatoryCertifications = [0, 2, 0, 0]
            #expect(try await DeviceInformation(of: gauges) == expected)
        }
    }

    @Test func `a fitness machine is controlled, once control was asked for`() async throws {
        try await withGauges { gauges in
            let machine = FitnessMachine(gauges)
            let range = SupportedPowerRange(minimumWatts: 0, maximumWatts: 400, incrementWatts: 1)
            #expect(try await machine.supportedPowers() == range)
            #expect(try await machine.supportedSpeeds() == nil)

            var statuses = try await machine.statuses().makeAsyncIterator()
            let control = try await machine.requestControl()
            try await control.setTargetPower(watts: 180)
            #expect(try await statuses.next() == .targetPower(watts: 180))
            #expect(try await peer.ask("gauges target") == "180")
            let tooMuch = await expectError(.procedureFailed) { try await control.setTargetPower(watts: 401) }
            #expect(tooMuch?.result(FitnessMachineResult.self) == .invalidParameter)
            let unknown = await expectError(.procedureFailed) { try await control.pause() }
            #expect(unknown?.result(FitnessMachineResult.self) == .opCodeNotSupported)
            try await control.reset()
            let lost = await expectError(.procedureFailed) { try await control.setTargetPower(watts: 1) }
            #expect(lost?.result(FitnessMachineResult.self) == .controlNotPermitted)

            var records = try await machine.records(of: .indoorBikeData).makeAsyncIterator()
            try await peer.tell("gauges ride 3105 171 -5")
            let record = try await records.next()
            #expect(record?.speedKilometersPerHour == 31.05)
            #expect(record?.cadencePerMinute == 85.5)
            #expect(record?.powerWatts == -5)
        }
    }

    @Test func `a temperature is indicated`() async throws {
        try await withGauges { gauges in
            let thermometer = HealthThermometer(gauges)
            #expect(try await thermometer.temperatureType() == .body)
            var measurements = try await thermometer.measurements().makeAsyncIterator()
            try await peer.tell("gauges temperature 366")
            let measurement = try #require(try await measurements.next())
            #expect(measurement.celsius == 36.6)
            #expect(measurement.temperature.description == "36.6")
            #expect(measurement.type == .body)
            #expect(measurement.timeStamp?.description == "2026-11-21T15:30:00")
        }
    }

    @Test func `a glucose meter sends its records, whole and in order, and deletes them`() async throws {
        try await withGauges { gauges in
            let meter = Glucose(gauges)
            #expect(try await meter.feature() == [.lowBatteryDetection, .multipleBonds])
            #expect(try await meter.recordCount() == 30)
            let records = try await meter.records()
            #expect(records.map(\.measurement.sequenceNumber) == Array(1...30))
            #expect(records.map { $0.measurement.sample?.milligramsPerDeciliter } == (71...100).map { Double($0) })
            #expect(records.filter { $0.context != nil }.map(\.measurement.sequenceNumber) == [10, 20, 30])
            #expect(records.last?.context?.carbohydrates == .init(.breakfast, kilograms: 0.015))
            #expect(try await meter.records(.sequenceNumbers(29...)).map(\.measurement.sequenceNumber) == [29, 30])
            #expect(try await meter.records(.last).map(\.measurement.sequenceNumber) == [30])
            #expect(try await meter.records(.sequenceNumbers(31...)).isEmpty)
            let refused = await expectError(.procedureFailed) { try await meter.recordCount(.sequenceNumbers(...3)) }
            #expect(refused?.result(RecordAccessResult.self) == .operatorNotSupported)
            try await meter.deleteRecords(.sequenceNumbers(3...))
            #expect(try await meter.recordCount() == 2)
            try await peer.tell("gauges restore")
        }
    }

    @Test func `a profile of one's own speaks to bumble's volume control`() async throws {
        try await withGauges { gauges in
            let volume = VolumeControl(gauges)
            try await gauges.pair()
            var states = try await volume.states().makeAsyncIterator()
            let first = try await volume.state()
            #expect(first == VolumeState(setting: 100, isMuted: false, changeCounter: 0))
            try await volume.perform(.up, changeCounter: first.changeCounter)
            #expect(try await states.next() == VolumeState(setting: 110, isMuted: false, changeCounter: 1))
            // The counter of the last request.
            let stale = await expectError(.attributeError) { try await volume.perform(.up, changeCounter: 0) }
            #expect(stale?.attError == ATTError(rawValue: 0x80))
            try await gauges.unpair()
        }
    }

    @Test func `sensors of a kind are distinguished`() async throws {
        try await withGauges { gauges in
            var temperatures: [String?: Double?] = [:]
            for sensor in try await EnvironmentalSensing(gauges).sensors(of: .temperature) {
                temperatures[try await sensor.userDescription()] = try await sensor.value()
            }
            #expect(temperatures == ["inside": 21.37, "outside": -5.12])
            #expect(try await EnvironmentalSensing(gauges).sensors().count == 4)
            #expect(try await gauges.read(.humidity) == 45.67)
            #expect(try await gauges.read(.pressure) == 101_325.1)
        }
    }

    @Test func `a serial line takes more than fits a packet`() async throws {
        try await withGauges { gauges in
            let line = NordicUART(gauges)
            var lines = try await line.lines().makeAsyncIterator()
            let long = String(repeating: "lorem ipsum ", count: 60)
            try await line.send("hello\r\n\(long)\ngrüße\n")
            #expect(try await lines.next() == "HELLO")
            #expect(try await lines.next() == long.uppercased())
            // The other side capitalizes bytes.
            #expect(try await lines.next() == "GRüßE")
        }
    }
}

/// The Volume Control service, as a user of the framework would write it.
private struct VolumeControl: Profile {
    static let serviceUUID = BluetoothUUID(0x1844)
    let service: PeripheralService

    enum Request: UInt8 { case down, up }

    func state() async throws(BLEError) -> VolumeState { try await service.read(.volumeState) }
    func states() async throws(BLEError) -> NotificationStream<VolumeState> {
        try await service.notifications(.volumeState)
    }
    func perform(_ request: Request, changeCounter: UInt8) async throws(BLEError) {
        try await service.write([request.rawValue, changeCounter], to: Characteristic(BluetoothUUID(0x2B7E)))
    }
}

private struct VolumeState: Hashable, ValueCodable {
    var setting: UInt8
    var isMuted: Bool
    var changeCounter: UInt8

    init(setting: UInt8, isMuted: Bool, changeCounter: UInt8) {
        (self.setting, self.isMuted, self.changeCounter) = (setting, isMuted, changeCounter)
    }
    init(from reader: inout ValueReader) throws(BLEError) {
        setting = try reader.uint8()
        isMuted = try Bool(from: &reader)
        changeCounter = try reader.uint8()
    }
    func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(setting)
        isMuted.encode(into: &writer)
        writer.uint8(changeCounter)
    }
}

extension Characteristic where Value == VolumeState {
    fileprivate static var volumeState: Self { Characteristic(BluetoothUUID(0x2B7D), service: BluetoothUUID(0x1844)) }
}
