import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct RevolutionsTests {
    private func wheel(_ count: Int, ticks: Int) -> CSCMeasurement {
        CSCMeasurement(wheelRevolutions: Revolutions(count: count, lastEventSeconds: Double(ticks) / 1024))
    }

    private func crank(_ count: Int, ticks: Int) -> CSCMeasurement {
        CSCMeasurement(crankRevolutions: Revolutions(count: count, lastEventSeconds: Double(ticks) / 1024))
    }

    @Test(
        arguments: [
            (100, 0, 104, 1024, 8.0),
            (100, 1024, 101, 1536, 4.0),
            (100, 0, 100, 1024, 0.0),  // nothing turned
            (100, 65024, 102, 512, 4.0),  // the clock began again
            (0xFFFF_FFFE, 0, 2, 1024, 8.0),  // the count did
            (0xFFFF_FFFF, 65535, 1, 1023, 4.0),  // both did
        ])
    func `two measurements are a speed`(
        _ before: Int, _ ticksBefore: Int, _ after: Int, _ ticks: Int, _ speed: Double
    ) {
        let earlier = wheel(before, ticks: ticksBefore)
        #expect(wheel(after, ticks: ticks).speedMetersPerSecond(since: earlier, wheelCircumferenceMeters: 2) == speed)
    }

    @Test(
        arguments: [
            (10, 0, 11, 1024, 60.0), (10, 0, 13, 2048, 90.0), (65535, 65024, 0, 512, 60.0), (65534, 0, 1, 3072, 60.0),
        ])
    func `two measurements are a cadence`(
        _ before: Int, _ ticksBefore: Int, _ after: Int, _ ticks: Int, _ cadence: Double
    ) {
        #expect(crank(after, ticks: ticks).cadencePerMinute(since: crank(before, ticks: ticksBefore)) == cadence)
    }

    @Test(
        arguments: [
            (100, 512, 104, 512),  // time did not move
            (100, 512, 100, 512),
            (100, 0, 99, 1024),  // the wheel rolled back
            (5_000_000, 0, 0, 1024),  // the count was set
            (-1, 0, 3, 1024),  // no count
            (100, 0, 1 << 32, 1024),
            (100, -1, 104, 1024),  // no time
            (100, 0, 104, 65536),
        ])
    func `otherwise there is no speed`(_ before: Int, _ ticksBefore: Int, _ after: Int, _ ticks: Int) {
        let earlier = wheel(before, ticks: ticksBefore)
        #expect(wheel(after, ticks: ticks).speedMetersPerSecond(since: earlier, wheelCircumferenceMeters: 2) == nil)
    }

    @Test func `a crank that stands still has no cadence`() {
        #expect(crank(9, ticks: 7).cadencePerMinute(since: crank(9, ticks: 7)) == nil)
        #expect(crank(8, ticks: 700).cadencePerMinute(since: crank(9, ticks: 7)) == nil)
    }

    @Test func `a measurement without a wheel or a crank has neither`() {
        let (wheel, crank) = (wheel(3, ticks: 2048), crank(3, ticks: 2048))
        #expect(crank.speedMetersPerSecond(since: self.wheel(1, ticks: 0), wheelCircumferenceMeters: 2) == nil)
        #expect(wheel.speedMetersPerSecond(since: self.crank(1, ticks: 0), wheelCircumferenceMeters: 2) == nil)
        #expect(wheel.cadencePerMinute(since: self.crank(1, ticks: 0)) == nil)
        #expect(crank.cadencePerMinute(since: self.wheel(1, ticks: 0)) == nil)
    }

    @Test func `numbers that are none make no speed`() {
        let broken = CSCMeasurement(wheelRevolutions: Revolutions(count: 9, lastEventSeconds: .nan))
        #expect(broken.speedMetersPerSecond(since: wheel(1, ticks: 0), wheelCircumferenceMeters: 2) == nil)
        #expect(wheel(9, ticks: 9).speedMetersPerSecond(since: broken, wheelCircumferenceMeters: 2) == nil)
    }

    @Test func `the wheel of a power meter has a faster clock`() {
        func meter(_ count: Int, _ seconds: Double) -> CyclingPowerMeasurement {
            CyclingPowerMeasurement(
                powerWatts: 0, wheelRevolutions: Revolutions(count: count, lastEventSeconds: seconds),
                crankRevolutions: Revolutions(count: count, lastEventSeconds: seconds))
        }
        #expect(meter(14, 1.5).speedMetersPerSecond(since: meter(10, 0.5), wheelCircumferenceMeters: 2) == 8)
        // 31.5 s and 0.5 s are one second apart on a clock of 32 s.
        #expect(meter(14, 0.5).speedMetersPerSecond(since: meter(10, 31.5), wheelCircumferenceMeters: 2) == 8)
        #expect(meter(14, 0.5).cadencePerMinute(since: meter(13, 63.5)) == 60)
    }
}
