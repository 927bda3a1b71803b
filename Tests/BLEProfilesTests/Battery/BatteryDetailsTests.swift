import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BatteryDetailsTests {
    @Test(
        arguments: [
            ([0x00], BatteryEnergyStatus()),
            ([0x01, 0x0A, 0x00], BatteryEnergyStatus(externalSourceWatts: 10)),
            ([0x02, 0x7C, 0xF1], BatteryEnergyStatus(volts: MedFloat16(mantissa: 380, exponent: -1))),
            ([0x04, 0x00, 0x00], BatteryEnergyStatus(availableKilowattHours: 0)),
            ([0x08, 0x05, 0xD0], BatteryEnergyStatus(capacityKilowattHours: 0.005)),
            ([0x10, 0xFE, 0x0F], BatteryEnergyStatus(chargeWatts: -2)),
            ([0x20, 0xFF, 0x07], BatteryEnergyStatus(availableAtLastChargeKilowattHours: .nan)),
            (
                [0x3F, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0],
                BatteryEnergyStatus(
                    externalSourceWatts: 1, volts: 2, availableKilowattHours: 3, capacityKilowattHours: 4,
                    chargeWatts: 5, availableAtLastChargeKilowattHours: 6)
            ),
        ] as [([UInt8], BatteryEnergyStatus)])
    func `the bytes spell the energy`(_ bytes: [UInt8], _ status: BatteryEnergyStatus) async throws {
        try await checkSpelling(bytes, status)
    }

    @Test(arguments: [0x01, 0x04, 0x08, 0x20] as [UInt8]) func `no energy is negative`(_ flags: UInt8) async {
        await expectError(.invalidValue) { try BatteryEnergyStatus(bytes: [flags, 0xFF, 0x0F]) }
        await expectError(.invalidValue) { try BatteryEnergyStatus(bytes: [flags, 0x02, 0x08]) }
    }

    @Test(
        arguments: [
            BatteryEnergyStatus(externalSourceWatts: -1), BatteryEnergyStatus(availableKilowattHours: -1),
            BatteryEnergyStatus(capacityKilowattHours: -1), BatteryEnergyStatus(availableAtLastChargeKilowattHours: -1),
        ])
    func `no negative energy is written`(_ status: BatteryEnergyStatus) async {
        await expectError(.invalidValue) { try status.encoded() }
        await expectError(.invalidValue) { try BatteryInformation(designedCapacityKilowattHours: -1).encoded() }
    }

    @Test(
        arguments: [
            ([0x00, 0xFF, 0xFF, 0xFF], BatteryTimeStatus()),
            ([0x00, 0x3C, 0x00, 0x00], BatteryTimeStatus(untilDischarged: .minutes(60))),
            ([0x00, 0xFE, 0xFF, 0xFF], BatteryTimeStatus(untilDischarged: .longer)),
            (
                [0x01, 0xFF, 0xFF, 0xFF, 0xFD, 0xFF, 0xFF],
                BatteryTimeStatus(untilDischargedOnStandby: .minutes(16_777_213))
            ),
            (
                [0x02, 0x00, 0x00, 0x00, 0x01, 0, 0],
                BatteryTimeStatus(untilDischarged: .minutes(0), untilRecharged: .minutes(1))
            ),
            (
                [0x03, 1, 0, 0, 2, 0, 0, 0xFE, 0xFF, 0xFF],
                BatteryTimeStatus(
                    untilDischarged: .minutes(1), untilDischargedOnStandby: .minutes(2), untilRecharged: .longer)
            ),
        ] as [([UInt8], BatteryTimeStatus)])
    func `the bytes spell the times`(_ bytes: [UInt8], _ status: BatteryTimeStatus) async throws {
        try await checkSpelling(bytes, status)
    }

    @Test(arguments: [-1, 16_777_214, .max]) func `other numbers of minutes cannot be written`(_ minutes: Int) async {
        await expectError(.invalidValue) { try BatteryTimeStatus(untilDischarged: .minutes(minutes)).encoded() }
    }

    @Test(
        arguments: [
            ([0x00], BatteryHealthStatus()), ([0x01, 0x5F], BatteryHealthStatus(healthPercent: 95)),
            ([0x02, 0x2C, 0x01], BatteryHealthStatus(cycleCount: 300)),
            ([0x04, 0xF6], BatteryHealthStatus(temperatureCelsius: -10)),
            ([0x04, 0x80], BatteryHealthStatus(temperatureCelsius: -128)),
            ([0x08, 0xFF, 0xFF], BatteryHealthStatus(deepDischargeCount: 65535)),
            (
                [0x0F, 100, 1, 0, 127, 2, 0],
                BatteryHealthStatus(
                    healthPercent: 100, cycleCount: 1, temperatureCelsius: 127, deepDischargeCount: 2)
            ),
        ] as [([UInt8], BatteryHealthStatus)])
    func `the bytes spell the health`(_ bytes: [UInt8], _ status: BatteryHealthStatus) async throws {
        try await checkSpelling(bytes, status)
    }

    @Test func `a health of more than 100 % is invalid`() async {
        await expectError(.invalidValue) { try BatteryHealthStatus(bytes: [0x01, 101]) }
        await expectError(.invalidValue) { try BatteryHealthStatus(healthPercent: 101).encoded() }
        await expectError(.invalidValue) { try BatteryHealthStatus(temperatureCelsius: 128).encoded() }
    }

    @Test(
        arguments: [
            ([0x00], BatteryHealthInformation()),
            ([0x01, 0xE8, 0x03], BatteryHealthInformation(designedCycleCount: 1000)),
            (
                [0x02, 0xEC, 0x3C],
                BatteryHealthInformation(operatingTemperatures: .init(minimumCelsius: -20, maximumCelsius: 60))
            ),
            (
                [0x03, 1, 0, 0x7F, 0x80],
                BatteryHealthInformation(
                    designedCycleCount: 1, operatingTemperatures: .init(minimumCelsius: 127, maximumCelsius: -128))
            ),
        ] as [([UInt8], BatteryHealthInformation)])
    func `the bytes spell what was designed`(_ bytes: [UInt8], _ information: BatteryHealthInformation) async throws {
        try await checkSpelling(bytes, information)
    }

    @Test(
        arguments: [
            ([0, 0, 0], BatteryInformation()),
            ([0, 0, 3], BatteryInformation(features: [.replaceable, .rechargeable])),
            (
                [0x01, 0, 0, 0xE9, 0x4D, 0], BatteryInformation(manufactureDate: DateUTC(daysSince1970: 19945))
            ), ([0x02, 0, 0, 0, 0, 0], BatteryInformation(expirationDate: DateUTC(daysSince1970: nil))),
            ([0x04, 0, 0, 5, 0], BatteryInformation(designedCapacityKilowattHours: 5)),
            ([0x08, 0, 0, 5, 0], BatteryInformation(lowEnergyKilowattHours: 5)),
            ([0x10, 0, 0, 5, 0], BatteryInformation(criticalEnergyKilowattHours: 5)),
            ([0x20, 0, 0, 6], BatteryInformation(chemistry: .lithiumPolymer)),
            ([0x40, 0, 0, 0xFF, 0x0F], BatteryInformation(nominalVolts: -1)),
            ([0x80, 0, 0, 254], BatteryInformation(aggregationGroup: 254)),
            (
                [0xFF, 0, 2, 1, 0, 0, 2, 0, 0, 3, 0, 4, 0, 5, 0, 0xFF, 7, 0, 8],
                BatteryInformation(
                    features: .rechargeable, manufactureDate: DateUTC(daysSince1970: 1),
                    expirationDate: DateUTC(daysSince1970: 2), designedCapacityKilowattHours: 3,
                    lowEnergyKilowattHours: 4, criticalEnergyKilowattHours: 5, chemistry: .other, nominalVolts: 7,
                    aggregationGroup: 8)
            ),
        ] as [([UInt8], BatteryInformation)])
    func `the bytes spell the kind`(_ bytes: [UInt8], _ information: BatteryInformation) async throws {
        try await checkSpelling(bytes, information)
    }

    @Test func `a battery is about to fail, or not`() async throws {
        try await checkSpelling([3], [.criticalPower, .immediateServiceRequired] as BatteryCriticalStatus)
        try await checkSpelling([0], [] as BatteryCriticalStatus)
    }

    @Test func `all properties of a battery are read`() async throws {
        let world = try await SimulatedWorld()
        let service = ServiceDefinition(
            .battery,
            characteristics: [
                try CharacteristicDefinition(.batteryCriticalStatus, [.read, .indicate], value: .criticalPower),
                try CharacteristicDefinition(.batteryEnergyStatus, [.read, .notify], value: .init(volts: 4)),
                try CharacteristicDefinition(
                    .batteryTimeStatus, [.read, .notify], value: .init(untilRecharged: .minutes(5))),
                try CharacteristicDefinition(.batteryHealthStatus, [.read, .notify], value: .init(healthPercent: 9)),
                try CharacteristicDefinition(.batteryHealthInformation, .read, value: .init(designedCycleCount: 7)),
                try CharacteristicDefinition(
                    .batteryInformation, [.read, .indicate], value: .init(features: .replaceable)),
                try CharacteristicDefinition(
                    .estimatedServiceDate, [.read, .indicate], value: DateUTC(daysSince1970: 20000)),
                try CharacteristicDefinition(.manufacturerName, .read, value: "Acme"),
                try CharacteristicDefinition(.modelNumber, .read, value: "M1"),
                try CharacteristicDefinition(.serialNumber, .read, value: "7"),
            ])
        let (thing, grip) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        let battery = Battery(thing)
        #expect(try await battery.criticalStatus() == .criticalPower)
        #expect(try await battery.energyStatus() == BatteryEnergyStatus(volts: 4))
        #expect(try await battery.timeStatus() == BatteryTimeStatus(untilRecharged: .minutes(5)))
        #expect(try await battery.healthStatus() == BatteryHealthStatus(healthPercent: 9))
        #expect(try await battery.healthInformation() == BatteryHealthInformation(designedCycleCount: 7))
        #expect(try await battery.information() == BatteryInformation(features: .replaceable))
        #expect(try await battery.estimatedServiceDate()?.dateTime == DateTime(year: 2024, month: 10, day: 4))
        #expect(try await battery.manufacturerName() == "Acme")
        #expect(try await battery.modelNumber() == "M1")
        #expect(try await battery.serialNumber() == "7")
        var critical = try await battery.criticalStatuses().makeAsyncIterator()
        var energy = try await battery.energyStatuses().makeAsyncIterator()
        var time = try await battery.timeStatuses().makeAsyncIterator()
        var health = try await battery.healthStatuses().makeAsyncIterator()
        var information = try await battery.informationChanges().makeAsyncIterator()
        var service2 = try await battery.estimatedServiceDates().makeAsyncIterator()
        for (type, bytes) in [
            (0x2BE9, [2]), (0x2BF0, [2, 3, 0]), (0x2BEE, [0, 9, 0, 0]), (0x2BEA, [1, 8]), (0x2BEC, [0, 0, 2]),
            (0x2BEF, [1, 0, 0]),
        ] as [(UInt32, [UInt8])] {
            await grip.notify(bytes, from: BluetoothUUID(type))
        }
        #expect(try await critical.next() == .immediateServiceRequired)
        #expect(try await energy.next() == BatteryEnergyStatus(volts: 3))
        #expect(try await time.next() == BatteryTimeStatus(untilDischarged: .minutes(9)))
        #expect(try await health.next() == BatteryHealthStatus(healthPercent: 8))
        #expect(try await information.next() == BatteryInformation(features: .rechargeable))
        #expect(try await service2.next() == DateUTC(daysSince1970: 1))
    }

    @Test func `what a battery does not tell is nil`() async throws {
        let world = try await SimulatedWorld()
        let (thing, _) = try await world.add(.battery())
        let battery = Battery(thing)
        #expect(try await battery.criticalStatus() == nil)
        #expect(try await battery.energyStatus() == nil)
        #expect(try await battery.estimatedServiceDate() == nil)
        #expect(try await battery.manufacturerName() == nil)
        await expectError(.characteristicNotFound) { try await battery.energyStatuses() }
    }

    @Test(
        arguments: [
            ([0, 0, 0], nil), ([1, 0, 0], 1), ([0xFE, 0xFF, 0xFF], 16_777_214),
        ] as [([UInt8], Int?)])
    func `a date is days`(_ bytes: [UInt8], _ days: Int?) async throws {
        try await checkSpelling(bytes, DateUTC(daysSince1970: days))
    }

    @Test func `a date is one of the calendar`() async throws {
        let date = try #require(DateUTC(DateTime(year: 2026, month: 2, day: 28, hour: 23)))
        #expect(date.daysSince1970 == 20512)
        #expect(date.dateTime == DateTime(year: 2026, month: 2, day: 28))
        #expect(DateUTC(DateTime(year: nil, month: 2, day: 28)) == nil)
        #expect(DateUTC(daysSince1970: 16_777_214).dateTime == nil)
        #expect(DateUTC(daysSince1970: .max).dateTime == nil)
        await expectError(.invalidValue) { try DateUTC(bytes: [0xFF, 0xFF, 0xFF]) }
        for days in [0, -1, 0xFF_FFFF] {
            await expectError(.invalidValue) { try DateUTC(daysSince1970: days).encoded() }
        }
    }
}
