import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CurrentTimeTests {
    private static let noon = DateTime(year: 2026, month: 11, day: 21, hour: 12, minute: 34, second: 56)

    @Test(
        arguments: [
            (
                [0xEA, 0x07, 11, 21, 12, 34, 56, 6, 128, 0x05],
                CurrentTimeValue(
                    ExactTime256(DayDateTime(noon, dayOfWeek: .saturday), fractions256: 128),
                    adjustReasons: [.manual, .timeZone])
            ),
            (
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
                CurrentTimeValue(ExactTime256(DayDateTime(DateTime(year: nil, month: nil, day: nil))))
            ),
            (
                [0x0F, 0x27, 12, 31, 23, 59, 59, 7, 255, 0x0A],
                CurrentTimeValue(
                    ExactTime256(
                        DayDateTime(
                            DateTime(year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59),
                            dayOfWeek: .sunday), fractions256: 255),
                    adjustReasons: [.externalReference, .daylightSavingTime])
            ),
        ] as [([UInt8], CurrentTimeValue)])
    func `the bytes spell the time`(_ bytes: [UInt8], _ time: CurrentTimeValue) async throws {
        try await checkSpelling(bytes, time)
    }

    @Test func `a reserved day of the week is not known, an impossible date an error`() async throws {
        let time = try DayDateTime(bytes: [0xEA, 0x07, 11, 21, 12, 34, 56, 8])
        #expect(time == DayDateTime(Self.noon))
        await expectError(.invalidValue) { try DayDateTime(bytes: [0xEA, 0x07, 2, 30, 12, 34, 56, 1]) }
        await expectError(.invalidValue) {
            try DayDateTime(DateTime(year: 2026, month: 13, day: 1)).encoded()
        }
    }

    @Test func `a time to be set brings its day of the week`() throws {
        let time = CurrentTimeValue(Self.noon, adjustReasons: .manual)
        #expect(try time.encoded() == [0xEA, 0x07, 11, 21, 12, 34, 56, 6, 0, 0x01])
        #expect(time.dateTime == Self.noon)
        let yearless = CurrentTimeValue(DateTime(year: nil, month: 11, day: 21))
        #expect(yearless.exactTime.dayDateTime.dayOfWeek == nil && yearless.adjustReasons == [])
    }

    @Test(
        arguments: [
            ([0x04, 0x04], 60, .daylightTime, 120), ([0x80, 0x00], nil, .standardTime, nil),
            ([0xD0, 0xFF], -720, .unknown, nil), ([0x38, 0x02], 840, .halfAnHour, 870),
            ([0xF2, 0x08], -210, .doubleDaylightTime, -90), ([0x00, 0x03], 0, DSTOffset(rawValue: 3), nil),
        ] as [([UInt8], Int?, DSTOffset, Int?)])
    func `a local time is so far from UTC`(
        _ bytes: [UInt8], _ zone: Int?, _ saving: DSTOffset, _ minutes: Int?
    ) async throws {
        let information = LocalTimeInformation(timeZone: TimeZoneOffset(minutes: zone), dstOffset: saving)
        try await checkSpelling(bytes, information)
        #expect(information.minutesFromUTC == minutes)
    }

    @Test(arguments: [0x39, 0x7F, 0x81, 0xCF] as [UInt8]) func `a reserved time zone is not known`(_ byte: UInt8) throws
    {
        #expect(try TimeZoneOffset(bytes: [byte]).minutes == nil)
    }

    @Test(arguments: [-735, 855, 7, 61, .max, .min]) func `other time zones cannot be written`(_ minutes: Int) async {
        await expectError(.invalidValue) { try TimeZoneOffset(minutes: minutes).encoded() }
    }

    @Test(
        arguments: [
            (
                [1, 8, 0, 5],
                ReferenceTimeInformation(source: .networkTimeProtocol, accuracySeconds: 1, hoursSinceUpdate: 5)
            ),
            (
                [2, 253, 254, 23],
                ReferenceTimeInformation(source: .gps, accuracySeconds: 31.625, hoursSinceUpdate: 6119)
            ),
            (
                [4, 254, 255, 255],
                ReferenceTimeInformation(source: .manual, accuracySeconds: .infinity, hoursSinceUpdate: nil)
            ),
            ([7, 255, 0, 0], ReferenceTimeInformation(source: .notSynchronized, hoursSinceUpdate: 0)),
            ([8, 255, 1, 0], ReferenceTimeInformation(source: TimeSource(rawValue: 8), hoursSinceUpdate: 24)),
        ] as [([UInt8], ReferenceTimeInformation)])
    func `the bytes spell where the time is from`(
        _ bytes: [UInt8], _ information: ReferenceTimeInformation
    ) async throws {
        try await checkSpelling(bytes, information)
    }

    @Test(arguments: [[1, 0, 255, 0], [1, 0, 0, 255]] as [[UInt8]])
    func `days or hours of 255 are 255 days or more`(_ bytes: [UInt8]) throws {
        #expect(try ReferenceTimeInformation(bytes: bytes).hoursSinceUpdate == nil)
    }

    @Test func `what is in no range is an error`() async {
        await expectError(.invalidValue) { try ReferenceTimeInformation(bytes: [1, 0, 0, 24]) }
        for hours in [-1, 6120, .max] {
            await expectError(.invalidValue) {
                try ReferenceTimeInformation(source: .gps, hoursSinceUpdate: hours).encoded()
            }
        }
        for seconds in [-0.125, 31.75, .nan, -.infinity] {
            await expectError(.invalidValue) {
                try ReferenceTimeInformation(source: .gps, accuracySeconds: seconds, hoursSinceUpdate: 1).encoded()
            }
        }
    }

    @Test func `what is written is read again`() throws {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<500 {
            let seconds = Int.random(in: -12_000_000_000...250_000_000_000, using: &generator)
            let dateTime = try #require(DateTime(secondsSince1970: seconds))
            let day = DayOfWeek(rawValue: .random(in: 0...7, using: &generator))
            try checkRoundTrip(
                CurrentTimeValue(
                    ExactTime256(
                        DayDateTime(dateTime, dayOfWeek: day), fractions256: .random(in: 0...255, using: &generator)),
                    adjustReasons: .init(rawValue: .random(in: 0...15, using: &generator))))
        }
    }

    /// A clock that notifies, and refuses years after 2030.
    private func clock() async throws -> (CurrentTime, SimulatedPeripheral) {
        let key = Characteristic.currentTime
        let now = CurrentTimeValue(ExactTime256(DayDateTime(Self.noon)))
        let stored = SharedValue(try now.encoded())
        let service = ServiceDefinition(
            .currentTime,
            characteristics: [
                CharacteristicDefinition(
                    key.key.characteristic, [.read, .write, .notify], onRead: { (_) throws(ATTError) in stored.value },
                    onWrite: { (bytes, _) throws(ATTError) in
                        guard bytes[1] == 7, bytes[0] < 0xEF else { throw .currentTimeFieldIgnored }
                        stored.change { $0 = bytes }
                    }),
                try CharacteristicDefinition(
                    .localTimeInformation, [.read, .write],
                    value: LocalTimeInformation(timeZone: TimeZoneOffset(minutes: nil), dstOffset: .unknown)),
                try CharacteristicDefinition(
                    .referenceTimeInformation, .read,
                    value: ReferenceTimeInformation(source: .gps, hoursSinceUpdate: 2)),
            ])
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        return (CurrentTime(peripheral), grip)
    }

    @Test func `the time is read, set and notified`() async throws {
        let (clock, grip) = try await clock()
        #expect(try await clock.time().exactTime.dayDateTime.dateTime == Self.noon)
        var midnight = Self.noon
        (midnight.hour, midnight.minute, midnight.second) = (0, 0, 0)
        let set = CurrentTimeValue(ExactTime256(DayDateTime(midnight)), adjustReasons: .manual)
        try await clock.setTime(set)
        #expect(try await clock.time() == set)
        var times = try await clock.times().makeAsyncIterator()
        await grip.notify(try set.encoded(), from: BluetoothUUID(0x2A2B))
        #expect(try await times.next() == set)
    }

    @Test func `a clock that ignores a field says so`() async throws {
        let (clock, _) = try await clock()
        let late = CurrentTimeValue(ExactTime256(DayDateTime(DateTime(year: 2031, month: 1, day: 1))))
        let error = await expectError(.attributeError) { try await clock.setTime(late) }
        #expect(error?.attError == .currentTimeFieldIgnored)
    }

    @Test func `the zone is read and set, the reference is read`() async throws {
        let (clock, _) = try await clock()
        #expect(try await clock.localTimeInformation()?.timeZone.minutes == nil)
        let here = LocalTimeInformation(timeZone: TimeZoneOffset(minutes: 60), dstOffset: .standardTime)
        try await clock.setLocalTimeInformation(here)
        #expect(try await clock.localTimeInformation() == here)
        #expect(try await clock.referenceTimeInformation()?.source == .gps)
    }

    @Test func `what a clock does not tell is nil, or says so`() async throws {
        let world = try await SimulatedWorld()
        let service = ServiceDefinition(
            .currentTime,
            characteristics: [
                try CharacteristicDefinition(
                    .currentTime, .read, value: CurrentTimeValue(ExactTime256(DayDateTime(Self.noon))))
            ])
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        let clock = CurrentTime(peripheral)
        #expect(try await clock.localTimeInformation() == nil)
        #expect(try await clock.referenceTimeInformation() == nil)
        await expectError(.notSupported) { try await clock.times() }
        let time = try await clock.time()
        await expectError(.notSupported) { try await clock.setTime(time) }
    }
}
