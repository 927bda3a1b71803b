import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct GlucoseMeasurementTests {
    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 23, minute: 50)
    private static let head: [UInt8] = [0x34, 0x12, 0xEA, 0x07, 11, 21, 23, 50, 0]

    private static func measurement(
        timeOffsetMinutes: Int? = nil, sample: GlucoseSample? = nil, status: GlucoseStatus? = nil,
        hasContext: Bool = false
    ) -> GlucoseMeasurement {
        GlucoseMeasurement(
            sequenceNumber: 0x1234, baseTime: time, timeOffsetMinutes: timeOffsetMinutes, sample: sample,
            status: status, hasContext: hasContext)
    }

    @Test(
        arguments: [
            ([0x00] + head, measurement()),
            ([0x01] + head + [0xC4, 0xFF], measurement(timeOffsetMinutes: -60)),
            (
                [0x02] + head + [0x78, 0xB0, 0x11],
                measurement(
                    sample: GlucoseSample(
                        concentration: MedFloat16(rawValue: 0xB078), unit: .kilogramsPerLiter,
                        fluid: .capillaryWholeBlood, location: .finger))
            ),
            (
                [0x06] + head + [0x37, 0xC0, 0xF9],
                measurement(
                    sample: GlucoseSample(
                        concentration: MedFloat16(rawValue: 0xC037), unit: .molesPerLiter, fluid: .interstitialFluid,
                        location: .notAvailable))
            ),
            ([0x08] + head + [0x21, 0x08], measurement(status: [.batteryLow, .resultTooHigh, .timeFault])),
            ([0x10] + head, measurement(hasContext: true)),
            (
                [0x1F] + head + [0x0F, 0x00, 0x37, 0xC0, 0x4A, 0x00, 0x00],
                measurement(
                    timeOffsetMinutes: 15,
                    sample: GlucoseSample(
                        concentration: MedFloat16(rawValue: 0xC037), unit: .molesPerLiter, fluid: .controlSolution,
                        location: .controlSolution), status: [], hasContext: true)
            ),
        ] as [([UInt8], GlucoseMeasurement)])
    func `the bytes spell the record`(_ bytes: [UInt8], _ measurement: GlucoseMeasurement) async throws {
        try await checkSpelling(bytes, measurement)
        #expect(try GlucoseMeasurement(bytes: bytes + [1]) == measurement)
        #expect(try GlucoseMeasurement(bytes: [bytes[0] | 0xE0] + bytes.dropFirst()) == measurement)
    }

    @Test func `the unit of a concentration that was not sent does not matter`() throws {
        #expect(try GlucoseMeasurement(bytes: [0x04] + Self.head) == Self.measurement())
    }

    @Test func `a concentration is known in both units that people use`() {
        let american = GlucoseSample(concentration: MedFloat16(rawValue: 0xB078), unit: .kilogramsPerLiter)
        #expect(american.milligramsPerDeciliter == 120)
        #expect(american.millimolesPerLiter == 6.661)
        let european = GlucoseSample(concentration: MedFloat16(rawValue: 0xC037), unit: .molesPerLiter)
        #expect(european.millimolesPerLiter == 5.5)
        #expect(european.milligramsPerDeciliter == 99.1)
        #expect(GlucoseSample(concentration: .nan, unit: .molesPerLiter).milligramsPerDeciliter.isNaN)
        #expect(GlucoseSample(concentration: .infinity, unit: .kilogramsPerLiter).millimolesPerLiter == .infinity)
    }

    @Test func `the user's time is the base time and the offset`() {
        #expect(Self.measurement(timeOffsetMinutes: 15).userFacingTime.map { "\($0)" } == "2026-11-22T00:05:00")
        #expect(Self.measurement().userFacingTime == Self.time)
    }

    @Test func `what four bits cannot hold is not written`() async {
        let sample = GlucoseSample(concentration: 1, unit: .molesPerLiter, fluid: .init(rawValue: 16))
        await expectError(.invalidValue) { try Self.measurement(sample: sample).encoded() }
        await expectError(.invalidValue) { try Self.measurement(timeOffsetMinutes: 32768).encoded() }
        await expectError(.invalidValue) {
            try GlucoseMeasurementContext(sequenceNumber: 1, examination: .init(health: .init(rawValue: 16))).encoded()
        }
        await expectError(.invalidValue) {
            try GlucoseMeasurementContext(
                sequenceNumber: 1, exercise: .init(durationSeconds: 65535, intensityPercent: 1)
            ).encoded()
        }
    }

    @Test(
        arguments: [
            ([0x00, 1, 0], GlucoseMeasurementContext(sequenceNumber: 1)),
            (
                [0x01, 1, 0, 2, 0x32, 0xD0],
                GlucoseMeasurementContext(
                    sequenceNumber: 1, carbohydrates: .init(.lunch, kilograms: MedFloat16(rawValue: 0xD032)))
            ),
            ([0x02, 1, 0, 3], GlucoseMeasurementContext(sequenceNumber: 1, meal: .fasting)),
            (
                [0x04, 1, 0, 0x52],
                GlucoseMeasurementContext(
                    sequenceNumber: 1, examination: .init(tester: .healthCareProfessional, health: .noIssues))
            ),
            (
                [0x08, 1, 0, 0x10, 0x0E, 80],
                GlucoseMeasurementContext(
                    sequenceNumber: 1, exercise: .init(durationSeconds: 3600, intensityPercent: 80))
            ),
            (
                [0x08, 1, 0, 0xFF, 0xFF, 255],
                GlucoseMeasurementContext(
                    sequenceNumber: 1, exercise: .init(durationSeconds: nil, intensityPercent: 255))
            ),
            (
                [0x10, 1, 0, 1, 0x05, 0xA0],
                GlucoseMeasurementContext(
                    sequenceNumber: 1,
                    medication: .init(.rapidActingInsulin, amount: MedFloat16(rawValue: 0xA005), unit: .kilograms))
            ),
            (
                [0x30, 1, 0, 5, 0x05, 0xD0],
                GlucoseMeasurementContext(
                    sequenceNumber: 1,
                    medication: .init(.premixedInsulin, amount: MedFloat16(rawValue: 0xD005), unit: .liters))
            ),
            ([0x40, 1, 0, 0x41, 0xF0], GlucoseMeasurementContext(sequenceNumber: 1, hbA1cPercent: 6.5)),
            (
                [0x7F, 1, 0, 1, 1, 0, 1, 0xFF, 1, 0, 2, 4, 3, 0, 0x41, 0xF0],
                GlucoseMeasurementContext(
                    sequenceNumber: 1, carbohydrates: .init(.breakfast, kilograms: 1), meal: .preprandial,
                    examination: .init(), exercise: .init(durationSeconds: 1, intensityPercent: 2),
                    medication: .init(.longActingInsulin, amount: 3, unit: .liters), hbA1cPercent: 6.5)
            ),
        ] as [([UInt8], GlucoseMeasurementContext)])
    func `the bytes spell the context`(_ bytes: [UInt8], _ context: GlucoseMeasurementContext) async throws {
        try await checkSpelling(bytes, context)
        #expect(try GlucoseMeasurementContext(bytes: bytes + [1]) == context)
        // Further flags, without a meaning, come after the number.
        let extended = [bytes[0] | 0x80] + bytes[1...2] + [0xFF] + bytes.dropFirst(3)
        #expect(try GlucoseMeasurementContext(bytes: extended) == context)
        await expectError(.invalidValue) { try GlucoseMeasurementContext(bytes: [0x80, 1, 0]) }
    }
}
