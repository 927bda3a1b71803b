import BLE
import BLEBlueZ
import BLEProfiles
import BLETestSupport
import Testing

/// The profiles on the real bluetoothd, with services of another make: bumble's own where it has them, otherwise written from their
/// specifications (Scripts/guest/peer/gauges.py). Runs inside `Scripts/with-bluez` only.
@Suite(.enabled(if: RealPeer.isThere), .serialized, .timeLimit(.minutes(5)))
struct RealProfileTests {
    private let peer = RealPeer()

    /// The gauges switched on, and who reads them.
    private func withGauges(_ check: (Peripheral) async throws -> Void) async throws {
        try await peer.reset()
        try await peer.tell("gauges on")
        let central = try await Central()
        do {
            let gauges = try await central.find(Peripheral.ID(rawValue: "F2:F3:F4:F5:F6:F7"))
            try await check(gauges)
        } catch {
            await central.shutDown()
            try await peer.tell("gauges off")
            throw error
        }
        await central.shutDown()
        try await peer.tell("gauges off")
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
            var levels: [PresentationFormat.Description?: Int] = [:]
            for battery in batteries { levels[try await battery.position()] = try await battery.level() }
            #expect(levels == [.left: 80, .right: 20])

            var expected = DeviceInformation()
            expected.manufacturer = "ACME"
            expected.model = "Gauges"
            expected.serialNumber = "G-1"
            expected.hardwareRevision = "A"
            expected.firmwareRevision = "0.1"
            expected.softwareRevision = "0.2"
            expected.systemID = SystemID(manufacturer: 0x9A_BCDE_F012, organization: 0x12_3456)
            expected.regulatoryCertifications = [0, 2, 0, 0]
            #expect(try await DeviceInformation(of: gauges) == expected)
        }
    }
}
