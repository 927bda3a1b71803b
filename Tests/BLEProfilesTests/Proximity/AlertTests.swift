import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Immediate Alert, Link Loss and Tx Power: the services of the Proximity and Find Me profiles.
@Suite(.hangLimit) struct AlertTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private func tag(_ services: [ServiceDefinition]) async throws -> (Peripheral, SimulatedPeripheral) {
        try await world.add(PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: services))
    }

    @Test(
        arguments: [([0], .none), ([1], .mild), ([2], .high), ([3], AlertLevel(rawValue: 3))] as [([UInt8], AlertLevel)]
    )
    func `a level is a byte`(_ bytes: [UInt8], _ level: AlertLevel) async throws {
        try await checkSpelling(bytes, level)
    }

    @Test func `an alert is written without response`() async throws {
        let written = SharedValue<[[UInt8]]>([])
        let types = SharedValue<[WriteType]>([])
        let service = ServiceDefinition(
            .immediateAlert,
            characteristics: [
                CharacteristicDefinition(
                    BluetoothUUID(0x2A06), .writeWithoutResponse,
                    onWrite: { bytes, request in
                        written.change { $0.append(bytes) }
                        types.change { $0.append(request.writeType ?? .reliable) }
                    })
            ])
        let (tag, _) = try await tag([service])
        try await ImmediateAlert(tag).alert(.high)
        try await ImmediateAlert(tag).alert(.none)
        await until { written.value.count >= 2 }
        #expect(written.value == [[2], [0]])
        #expect(types.value == [.withoutResponse, .withoutResponse])
    }

    @Test func `the same characteristic of two services is two`() async throws {
        let (tag, _) = try await tag([
            ServiceDefinition(
                .immediateAlert,
                characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A06), .writeWithoutResponse)]),
            ServiceDefinition(
                .linkLoss,
                characteristics: [try CharacteristicDefinition(.linkLossAlertLevel, [.read, .write], value: .mild)]),
        ])
        let linkLoss = LinkLoss(tag)
        #expect(try await linkLoss.alertLevel() == .mild)
        try await linkLoss.setAlertLevel(.high)
        #expect(try await linkLoss.alertLevel() == .high)
        await expectError(.notSupported) { try await tag.read(.immediateAlertLevel) }
    }

    @Test func `a thing that cannot alert says so`() async throws {
        let (thing, _) = try await world.add(.battery())
        #expect(
            await expectError(.serviceNotFound) { try await ImmediateAlert(thing).alert(.mild) }?.missingUUIDs
                == [.immediateAlert])
        #expect(
            await expectError(.serviceNotFound) { try await LinkLoss(thing).alertLevel() }?.missingUUIDs == [.linkLoss])
        #expect(
            await expectError(.serviceNotFound) { try await TxPower(thing).levelDBm() }?.missingUUIDs == [.txPower])
    }

    @Test(arguments: [([0x9C], -100), ([0x00], 0), ([0x14], 20)] as [([UInt8], Int8)])
    func `a power is a byte from -100 to 20`(_ bytes: [UInt8], _ level: Int8) throws {
        #expect(try Characteristic.txPowerLevel.coding.decode(bytes) == level)
        #expect(try Characteristic.txPowerLevel.coding.encode(level) == bytes)
    }

    @Test(arguments: [[], [0x15], [0x9B], [0x7F], [0x80], [0, 0]] as [[UInt8]])
    func `any other value is not a power`(_ bytes: [UInt8]) async {
        await expectError(.invalidValue) { try Characteristic.txPowerLevel.coding.decode(bytes) }
        await expectError(.invalidValue) { try Characteristic.txPowerLevel.coding.encode(21) }
    }

    @Test func `a power is read, and reported when it is notified`() async throws {
        let (tag, grip) = try await tag([
            ServiceDefinition(
                .txPower, characteristics: [try CharacteristicDefinition(.txPowerLevel, [.read, .notify], value: -8)])
        ])
        #expect(try await TxPower(tag).levelDBm() == -8)
        var levels = try await TxPower(tag).levelsDBm().makeAsyncIterator()
        await grip.notify([4], from: BluetoothUUID(0x2A07))
        #expect(try await levels.next() == 4)
    }
}
