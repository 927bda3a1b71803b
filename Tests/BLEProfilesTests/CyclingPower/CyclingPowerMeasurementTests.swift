import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct CyclingPowerMeasurementTests {
    private typealias Extremes = CyclingPowerMeasurement.Extremes

    /// Each field alone: its flags, its bytes, and its value.
    private static let fields:
        [(flags: UInt16, bytes: [UInt8], set: @Sendable (inout CyclingPowerMeasurement) -> Void)] =
            [
                (0x0003, [0x65], { $0.pedalPowerBalance = .init(percent: 50.5, isLeft: true) }),
                (0x000C, [0x21, 0x00], { $0.accumulatedTorque = .init(newtonMeters: 33.0 / 32, isAtCrank: true) }),
                (
                    0x0010, [1, 2, 3, 4, 0x00, 0x04],
                    { $0.wheelRevolutions = Revolutions(count: 0x0403_0201, lastEventSeconds: 0.5) }
                ),
                (0x0020, [5, 1, 0x00, 0x04], { $0.crankRevolutions = Revolutions(count: 261, lastEventSeconds: 1) }),
                (0x0040, [0x2C, 0x01, 0xFE, 0xFF], { $0.extremeForcesNewtons = Extremes(maximum: 300, minimum: -2) }),
                (
                    0x0080, [0x20, 0x00, 0xF0, 0xFF],
                    { $0.extremeTorquesNewtonMeters = Extremes(maximum: 1, minimum: -0.5) }
                ),
                // The example of the GATT Specification Supplement.
                (0x0100, [0xBC, 0x3A, 0x12], { $0.extremeAnglesDegrees = Extremes(maximum: 0xABC, minimum: 0x123) }),
                (0x0200, [0x5A, 0x00], { $0.topDeadSpotDegrees = 90 }),
                (0x0400, [0x0E, 0x01], { $0.bottomDeadSpotDegrees = 270 }),
                (0x0800, [0xFF, 0xFF], { $0.accumulatedEnergyKilojoules = 65535 }),
                (0x1000, [], { $0.needsOffsetCompensation = true }),
            ]

    private func little(_ number: UInt16) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

    @Test(arguments: [-32768, -1, 0, 250, 32767]) func `power alone has a sign`(_ watts: Int) async throws {
        let power = little(UInt16(bitPattern: Int16(watts)))
        try await checkSpelling([0, 0] + power, CyclingPowerMeasurement(powerWatts: watts))
    }

    @Test func `each field alone is read and written`() async throws {
        for field in Self.fields {
            var measurement = CyclingPowerMeasurement(powerWatts: 250)
            field.set(&measurement)
            try await checkSpelling(little(field.flags) + [250, 0] + field.bytes, measurement)
        }
    }

    @Test func `all fields together are read and written in their order`() async throws {
        var measurement = CyclingPowerMeasurement(powerWatts: 250)
        for field in Self.fields { field.set(&measurement) }
        let flags = Self.fields.reduce(0) { $0 | $1.flags }
        #expect(flags == 0x1FFF)
        try await checkSpelling(little(flags) + [250, 0] + Self.fields.flatMap(\.bytes), measurement)
    }

    @Test func `any combination of fields is read again`() throws {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let flags = UInt16.random(in: 0...0x1FFF, using: &generator)
            let bytes = (0..<36).map { _ in UInt8.random(in: 0...255, using: &generator) }
            try checkRoundTrip(try CyclingPowerMeasurement(bytes: little(flags) + bytes))
        }
    }

    @Test func `the references say nothing without what they are for`() throws {
        #expect(try CyclingPowerMeasurement(bytes: [0x0A, 0xE0, 1, 0]) == CyclingPowerMeasurement(powerWatts: 1))
    }

    @Test func `an angle of more than 12 bits is not written`() async {
        for angles in [Extremes(maximum: 4096, minimum: 0), Extremes(maximum: 0, minimum: -1)] {
            await expectError(.invalidValue) {
                try CyclingPowerMeasurement(powerWatts: 0, extremeAnglesDegrees: angles).encoded()
            }
        }
    }

    @Test(
        arguments: [
            ([0x00], CyclingPowerVector()),
            ([0x30], CyclingPowerVector(direction: .lateral)),
            (
                [0x01, 0x05, 0x01, 0x00, 0x04],
                CyclingPowerVector(crankRevolutions: Revolutions(count: 261, lastEventSeconds: 1))
            ),
            ([0x02, 0x5A, 0x00], CyclingPowerVector(firstAngleDegrees: 90)),
        ] as [([UInt8], CyclingPowerVector)])
    func `a vector is what its flags say`(_ bytes: [UInt8], _ vector: CyclingPowerVector) async throws {
        try await checkSpelling(bytes, vector)
    }

    @Test func `a vector's magnitudes go on to its end`() async throws {
        try await checkSpelling(
            [0x14, 0x01, 0x00, 0xFF, 0xFF],
            CyclingPowerVector(magnitudes: .forcesNewtons([1, -1]), direction: .tangential), shorter: [1, 3])
        try await checkSpelling(
            [0x2B, 7, 0, 0x00, 0x04, 0x5A, 0x00, 0x30, 0x00],
            CyclingPowerVector(
                crankRevolutions: Revolutions(count: 7, lastEventSeconds: 1), firstAngleDegrees: 90,
                magnitudes: .torquesNewtonMeters([1.5]), direction: .radial), shorter: [7])
        try await checkSpelling([0x08], CyclingPowerVector(magnitudes: .torquesNewtonMeters([])))
    }

    @Test func `forces and torques at once are no vector`() async {
        await expectError(.invalidValue) { try CyclingPowerVector(bytes: [0x0C, 1, 0, 2, 0]) }
    }

    @Test func `a feature is a set of flags, and a number of two bits`() async throws {
        let feature: CyclingPowerFeature = [.pedalPowerBalance, .measuresTorque]
        try await checkSpelling([0x01, 0x00, 0x01, 0x00], feature)
        try await checkSpelling([0x01, 0x00, 0x21, 0x00], feature.with(.oneOfSeveral))
        #expect(feature.with(.alone).distributedSystem == .alone)
        #expect(feature.with(.oneOfSeveral).with(.unspecified) == feature)
        #expect(CyclingPowerFeature(rawValue: 3 << 20).distributedSystem == .unspecified)
    }
}
