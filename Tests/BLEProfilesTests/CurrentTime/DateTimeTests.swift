import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct DateTimeTests {
    @Test(
        arguments: [
            (
                [0xEA, 0x07, 2, 28, 23, 59, 0], DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59),
                "2026-02-28T23:59:00"
            ),
            ([0xD0, 0x07, 2, 29, 0, 0, 0], DateTime(year: 2000, month: 2, day: 29), "2000-02-29T00:00:00"),
            ([0x2E, 0x06, 1, 1, 0, 0, 1], DateTime(year: 1582, month: 1, day: 1, second: 1), "1582-01-01T00:00:01"),
            (
                [0x0F, 0x27, 12, 31, 23, 59, 59],
                DateTime(year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59), "9999-12-31T23:59:59"
            ),
            ([0, 0, 0, 0, 0, 0, 0], DateTime(year: nil, month: nil, day: nil), "????-??-??T00:00:00"),
            ([0, 0, 2, 29, 12, 0, 0], DateTime(year: nil, month: 2, day: 29, hour: 12), "????-02-29T12:00:00"),
            (
                [0xEB, 0x07, 0, 31, 1, 2, 3], DateTime(year: 2027, month: nil, day: 31, hour: 1, minute: 2, second: 3),
                "2027-??-31T01:02:03"
            ),
        ] as [([UInt8], DateTime, String)])
    func `seven bytes are a date and a time`(_ bytes: [UInt8], _ time: DateTime, _ text: String) async throws {
        try await checkSpelling(bytes, time)
        #expect("\(time)" == text)
    }

    @Test(
        arguments: [
            (2026, 13, 1, 0, 0, 0), (2026, 1, 32, 0, 0, 0), (2026, 2, 29, 0, 0, 0), (1900, 2, 29, 0, 0, 0),
            (2100, 2, 29, 0, 0, 0), (2024, 2, 30, 0, 0, 0), (2026, 4, 31, 0, 0, 0), (0, 11, 31, 0, 0, 0),
            (2026, 1, 1, 24, 0, 0), (2026, 1, 1, 0, 60, 0), (2026, 1, 1, 0, 0, 60), (1581, 12, 31, 0, 0, 0),
            (10000, 1, 1, 0, 0, 0), (65535, 1, 1, 0, 0, 0),
        ] as [(Int, Int, Int, Int, Int, Int)])
    func `a date outside the calendar is not a time`(
        _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
    ) async {
        let bytes = [year & 0xFF, year >> 8, month, day, hour, minute, second].map { UInt8($0) }
        await expectError(.invalidValue) { try DateTime(bytes: bytes) }
        let time = DateTime(
            year: year == 0 ? nil : year, month: month, day: day, hour: hour, minute: minute, second: second)
        #expect(!time.isPossible)
        await expectError(.invalidValue) { try time.encoded() }
    }

    @Test(
        arguments: [
            (2026, 11, 21, .saturday), (1970, 1, 1, .thursday), (1969, 12, 31, .wednesday), (2000, 2, 29, .tuesday),
            (1582, 10, 15, .friday), (9999, 12, 31, .friday), (1969, 12, 29, .monday), (1969, 12, 28, .sunday),
        ] as [(Int, Int, Int, DayOfWeek)])
    func `a date is a day of the week, at any time of day`(
        _ year: Int, _ month: Int, _ day: Int, _ dayOfWeek: DayOfWeek
    ) {
        #expect(DateTime(year: year, month: month, day: day).dayOfWeek == dayOfWeek)
        let late = DateTime(year: year, month: month, day: day, hour: 23, minute: 59, second: 59)
        #expect(late.dayOfWeek == dayOfWeek)
    }

    @Test(arguments: [(nil, 1, 1), (2026, nil, 1), (2026, 1, nil), (2026, 2, 30)] as [(Int?, Int?, Int?)])
    func `an unknown or invalid date has no day of the week`(_ year: Int?, _ month: Int?, _ day: Int?) {
        #expect(DateTime(year: year, month: month, day: day).dayOfWeek == nil)
    }

    @Test(arguments: [(-1, 1, 1), (2026, -1, 1), (2026, 1, -1), (0, 1, 1), (2026, 0, 1), (2026, 1, 0)])
    func `a number that is not a part of a date is not written`(_ year: Int, _ month: Int, _ day: Int) async {
        await expectError(.invalidValue) { try DateTime(year: year, month: month, day: day).encoded() }
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00"), (-1, "1969-12-31T23:59:59"), (951_782_400, "2000-02-29T00:00:00"),
            (946_684_800, "2000-01-01T00:00:00"), (-2_208_988_800, "1900-01-01T00:00:00"),
            (1_795_274_334, "2026-11-21T15:18:54"), (-12_244_089_600, "1582-01-01T00:00:00"),
            (253_402_300_799, "9999-12-31T23:59:59"),
        ])
    func `seconds from 1970 are a time and back`(_ seconds: Int, _ text: String) throws {
        let time = try #require(DateTime(secondsSince1970: seconds))
        #expect("\(time)" == text)
        #expect(time.secondsSince1970 == seconds)
    }

    @Test func `any day is another than the day before`() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            let seconds = Int.random(in: -12_244_000_000...253_402_000_000, using: &generator)
            let time = try #require(DateTime(secondsSince1970: seconds))
            #expect(time.isPossible)
            #expect(time.secondsSince1970 == seconds)
            #expect(time.adding(minutes: 1440)?.secondsSince1970 == seconds + 86400)
            #expect(time.adding(minutes: 1440)?.hour == time.hour)
        }
    }

    @Test(arguments: [Int.min, -12_244_089_601, 253_402_300_800, .max])
    func `a number outside of all years is not a time`(_ seconds: Int) {
        #expect(DateTime(secondsSince1970: seconds) == nil)
    }

    @Test func `minutes go beyond the day, the month and the year`() {
        let time = DateTime(year: 2023, month: 12, day: 31, hour: 23, minute: 30, second: 7)
        #expect(time.adding(minutes: 45).map { "\($0)" } == "2024-01-01T00:15:07")
        #expect(time.adding(minutes: -1440 * 306).map { "\($0)" } == "2023-02-28T23:30:07")
        #expect(DateTime(year: nil, month: 1, day: 1).adding(minutes: 1) == nil)
        #expect(time.adding(minutes: .max) == nil && time.adding(minutes: .min) == nil)
    }
}
