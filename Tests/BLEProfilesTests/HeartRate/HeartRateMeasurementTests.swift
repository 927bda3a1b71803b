import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct HeartRateMeasurementTests {
    @Test(
        arguments: [
            ([0x10, 0x48, 0x00, 0x04], HeartRateMeasurement(beatsPerMinute: 72, rrIntervalsSeconds: [1.0])),
            ([0x00, 0x48], HeartRateMeasurement(beatsPerMinute: 72)),
            ([0x00, 0x00], HeartRateMeasurement(beatsPerMinute: 0)),
            ([0x00, 0xFF], HeartRateMeasurement(beatsPerMinute: 255)),
            ([0x01, 0x2C, 0x01], HeartRateMeasurement(beatsPerMinute: 300)),
            ([0x01, 0xFF, 0xFF], HeartRateMeasurement(beatsPerMinute: 65535)),
            ([0x02, 0x48], HeartRateMeasurement(beatsPerMinute: 72)),
            ([0x04, 0x48], HeartRateMeasurement(beatsPerMinute: 72, contact: false)),
            ([0x06, 0x48], HeartRateMeasurement(beatsPerMinute: 72, contact: true)),
            ([0x08, 0x48, 0x0A, 0x01], HeartRateMeasurement(beatsPerMinute: 72, energyExpendedKilojoules: 266)),
            ([0x08, 0x48, 0xFF, 0xFF], HeartRateMeasurement(beatsPerMinute: 72, energyExpendedKilojoules: 65535)),
            ([0x10, 0x48], HeartRateMeasurement(beatsPerMinute: 72)),
            (
                [0x10, 0x48, 0x00, 0x02, 0x00, 0x04, 0x01, 0x00],
                HeartRateMeasurement(beatsPerMinute: 72, rrIntervalsSeconds: [0.5, 1.0, 1.0 / 1024])
            ),
            ([0x10, 0x48, 0xFF, 0xFF], HeartRateMeasurement(beatsPerMinute: 72, rrIntervalsSeconds: [65535.0 / 1024])),
            (
                [0x1F, 0x48, 0x00, 0x0A, 0x00, 0x00, 0x04],
                HeartRateMeasurement(
                    beatsPerMinute: 72, contact: true, energyExpendedKilojoules: 10, rrIntervalsSeconds: [1.0])
            ),
            ([0xE0, 0x48], HeartRateMeasurement(beatsPerMinute: 72)),
            ([0x00, 0x48, 0x00, 0x04], HeartRateMeasurement(beatsPerMinute: 72)),
        ] as [([UInt8], HeartRateMeasurement)])
    func `bytes decode to the measurement`(_ bytes: [UInt8], _ measurement: HeartRateMeasurement) throws {
        #expect(try HeartRateMeasurement(bytes: bytes) == measurement)
        #expect(try Characteristic.heartRateMeasurement.coding.decode(bytes) == measurement)
    }

    /// The bytes of a measurement with the given flags: 0x0148 or 0x48 beats per minute, 0x0201 kJ, two intervals.
    private static func bytes(flags: UInt8) -> [UInt8] {
        [flags] + (flags & 0x01 != 0 ? [0x48, 0x01] : [0x48]) + (flags & 0x08 != 0 ? [0x01, 0x02] : [])
            + (flags & 0x10 != 0 ? [0x00, 0x04, 0x00, 0x08] : [])
    }

    @Test(arguments: UInt8(0)..<32) func `the flags determine which fields are decoded`(_ flags: UInt8) throws {
        let measurement = try HeartRateMeasurement(bytes: Self.bytes(flags: flags))
        #expect(measurement.beatsPerMinute == (flags & 0x01 != 0 ? 0x148 : 0x48))
        let contact: [Bool?] = [nil, nil, false, true]
        #expect(measurement.contact == contact[Int(flags >> 1 & 3)])
        #expect(measurement.energyExpendedKilojoules == (flags & 0x08 != 0 ? 0x201 : nil))
        #expect(measurement.rrIntervalsSeconds == (flags & 0x10 != 0 ? [1, 2] : []))
    }

    @Test(arguments: UInt8(0)..<32) func `a truncated measurement throws invalidValue`(_ flags: UInt8) async {
        let whole = Self.bytes(flags: flags)
        // There may be any number of intervals, including none.
        let optional = flags & 0x10 != 0 ? [whole.count - 4, whole.count - 2] : []
        for count in 0..<whole.count where !optional.contains(count) {
            await expectError(.invalidValue) { try HeartRateMeasurement(bytes: Array(whole.prefix(count))) }
        }
    }

    @Test(
        arguments: [
            [], [0x00], [0x01], [0x01, 0x48], [0x08, 0x48], [0x08, 0x48, 0x0A], [0x09, 0x48, 0x00, 0x0A], [0x10],
            [0x10, 0x48, 0x00], [0x10, 0x48, 0x00, 0x04, 0x00], [0x1F, 0x48, 0x00, 0x0A, 0x00, 0x00],
        ] as [[UInt8]])
    func `malformed bytes throw invalidValue`(_ bytes: [UInt8]) async {
        await expectError(.invalidValue) { try Characteristic.heartRateMeasurement.coding.decode(bytes) }
    }

    @Test(arguments: UInt8(0)..<32) func `encoding and decoding returns the same measurement`(_ flags: UInt8) throws {
        let measurement = try HeartRateMeasurement(bytes: Self.bytes(flags: flags))
        #expect(try HeartRateMeasurement(bytes: measurement.encoded()) == measurement)
    }

    @Test(
        arguments: [
            (0, .other), (1, .chest), (2, .wrist), (3, .finger), (4, .hand), (5, .earLobe), (6, .foot),
        ] as [(UInt8, BodySensorLocation)])
    func `a body sensor location is one byte`(_ byte: UInt8, _ location: BodySensorLocation) throws {
        let coding = Characteristic.bodySensorLocation.coding
        #expect(try coding.decode([byte]) == location)
        #expect(try coding.encode(location) == [byte])
    }

    @Test func `a reserved location keeps its raw value, and empty bytes throw`() async throws {
        let coding = Characteristic.bodySensorLocation.coding
        #expect(try coding.decode([200]) == BodySensorLocation(rawValue: 200))
        await expectError(.invalidValue) { try coding.decode([]) }
    }
}
