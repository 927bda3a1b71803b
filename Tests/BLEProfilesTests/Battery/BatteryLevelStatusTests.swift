import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BatteryLevelStatusTests {
    @Test(
        arguments: [
            ([0x00, 0x15, 0x00], BatteryLevelStatus(isPresent: true, hasWiredPower: nil, hasWirelessPower: nil)),
            (
                [0x00, 0x00, 0x00],
                BatteryLevelStatus(isPresent: false, hasWiredPower: false, hasWirelessPower: false)
            ),
            (
                [0x00, 0x23, 0x70],
                BatteryLevelStatus(
                    hasWiredPower: true, hasWirelessPower: false, chargeState: .charging,
                    chargingFaults: [.battery, .externalPowerSource, .other])
            ),
            (
                [0x00, 0xC9, 0x08],
                BatteryLevelStatus(
                    hasWiredPower: false, hasWirelessPower: true, chargeState: .discharging, chargeLevel: .good,
                    chargingType: .float)
            ),
            (
                [0x00, 0x75, 0x03],
                BatteryLevelStatus(
                    chargeState: .dischargingInactively, chargeLevel: .low, chargingType: .constantCurrent)
            ),
            ([0x00, 0x95, 0x07], BatteryLevelStatus(chargeLevel: .critical, chargingType: .trickle)),
            ([0x01, 0x15, 0x00, 0x0D, 0x01], BatteryLevelStatus(identifier: .left)),
            ([0x02, 0x15, 0x00, 0x64], BatteryLevelStatus(levelPercent: 100)),
            (
                [0x04, 0x15, 0x00, 0x05],
                BatteryLevelStatus(additionalStatus: .init(needsService: true, hasFault: true))
            ),
            (
                [0x04, 0x15, 0x00, 0x02],
                BatteryLevelStatus(additionalStatus: .init(needsService: nil, hasFault: false))
            ),
            (
                [0x07, 0x15, 0x04, 0x01, 0x00, 0x32, 0x00],
                BatteryLevelStatus(
                    chargingType: .constantVoltage, identifier: 1, levelPercent: 50,
                    additionalStatus: .init(needsService: false, hasFault: false))
            ),
        ] as [([UInt8], BatteryLevelStatus)])
    func `the bytes spell the status`(_ bytes: [UInt8], _ status: BatteryLevelStatus) async throws {
        try await checkSpelling(bytes, status)
    }

    @Test func `what is reserved is not known, and further bytes are passed over`() throws {
        let status = try BatteryLevelStatus(bytes: [0xFC, 0x1F, 0x8E, 0x03, 0x99])
        #expect(status.hasWiredPower == nil)
        #expect(status.hasWirelessPower == nil)
        #expect(status.chargingType == .unknownOrNotCharging)
        #expect(status.chargingFaults == [])
        #expect(status.additionalStatus == .init(needsService: nil, hasFault: false))
    }

    @Test func `a level of more than 100 % is neither read nor written`() async {
        await expectError(.invalidValue) { try BatteryLevelStatus(bytes: [0x02, 0x15, 0x00, 0x65]) }
        await expectError(.invalidValue) { try BatteryLevelStatus(levelPercent: 101).encoded() }
        await expectError(.invalidValue) { try BatteryLevelStatus(levelPercent: -1).encoded() }
    }

    @Test func `what is written is read again`() throws {
        var generator = SeededGenerator(seed: 1)
        let truths: [Bool?] = [nil, false, true]
        for _ in 0..<500 {
            let status = BatteryLevelStatus(
                isPresent: .random(using: &generator), hasWiredPower: truths.randomElement(using: &generator)!,
                hasWirelessPower: truths.randomElement(using: &generator)!,
                chargeState: .init(rawValue: .random(in: 0...3, using: &generator))!,
                chargeLevel: .init(rawValue: .random(in: 0...3, using: &generator))!,
                chargingType: .init(rawValue: .random(in: 0...4, using: &generator))!,
                chargingFaults: .init(rawValue: .random(in: 0...7, using: &generator) << 12),
                identifier: .random(using: &generator)
                    ? .init(rawValue: .random(in: 0...0xFFFF, using: &generator)) : nil,
                levelPercent: .random(using: &generator) ? .random(in: 0...100, using: &generator) : nil,
                additionalStatus: .random(using: &generator)
                    ? .init(
                        needsService: truths.randomElement(using: &generator)!, hasFault: .random(using: &generator))
                    : nil)
            try checkRoundTrip(status)
        }
    }

    @Test func `several batteries are distinguished by the presentation of their level`() async throws {
        let world = try await SimulatedWorld()
        let services = try [(PresentationFormat.Description.left, 80), (.right, 30)].map { place, level in
            ServiceDefinition(
                .battery,
                characteristics: [
                    try CharacteristicDefinition(
                        .batteryLevel, .read, value: UInt8(level),
                        descriptors: [
                            DescriptorDefinition(
                                BluetoothUUID(0x2904),
                                value: PresentationFormat(
                                    format: .uint8, unit: BluetoothUUID(0x27AD), description: place
                                ).bytes)
                        ]),
                    try CharacteristicDefinition(
                        .batteryLevelStatus, [.read, .notify],
                        value: BatteryLevelStatus(identifier: place, levelPercent: level)),
                ])
        }
        let (buds, grip) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: services))
        let batteries = try await Battery.all(on: buds)
        #expect(batteries.count == 2)
        for (battery, (place, level)) in zip(batteries, [(PresentationFormat.Description.left, 80), (.right, 30)]) {
            #expect(try await battery.position() == place)
            #expect(try await Int(battery.level()) == level)
            #expect(try await battery.levelStatus() == BatteryLevelStatus(identifier: place, levelPercent: level))
        }
        var statuses = try await batteries[1].levelStatuses().makeAsyncIterator()
        #expect(await grip.subscriberCount(of: BluetoothUUID(0x2BED)) == 1)
        await grip.notify([0x02, 0x15, 0x00, 0x1D], from: BluetoothUUID(0x2BED))
        #expect(try await statuses.next() == BatteryLevelStatus(levelPercent: 29))
    }
}
