import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

extension DevicesTests {
    @Test func `a peripheral without the characteristics is not a device, and no link stays`() async throws {
        let definition = PeripheralDefinition(advertisement: FakeDevice.advertisement(), services: [])
        let (peripheral, _) = try await world.add(definition)
        let error = await expectError(.serviceNotFound) { try await devices().connect(serial: FakeDevice.serial) }
        #expect(error?.missingUUIDs == [FakeDevice.service])
        #expect(await peripheral.connectionState == .disconnected)
    }

    @Test func `a cancelled connect leaves no link`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let found = try #require(try await discovered(devices))
        await fake.grip.setAdvertising(false)
        let waiting = Task { try await devices.connect(to: found) }
        await until { await fake.peripheral.connectionState == .connecting }
        waiting.cancel()
        await expectError(.cancelled) { try await waiting.value }
        await until { await fake.peripheral.connectionState == .disconnected }
        await until { world.clock.sleeperCount == 0 }
    }

    // MARK: The end of a link

    @Test func `features learn of the end, and the next connection has new ones`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let device = try await devices.connect(serial: FakeDevice.serial)
        let feature = try device.feature(NameFeature.self)
        await fake.grip.dropLink()
        #expect(try await device.untilDisconnected().code == .disconnected)
        await until { feature.learned.value == ["connected", "ready", "disconnected: disconnected"] }
        await expectError(.disconnected) { try await feature.name() }
        await until { await devices.device(serial: FakeDevice.serial) == nil }
        let again = try await devices.connect(serial: FakeDevice.serial)
        #expect(again !== device)
        #expect(try again.feature(NameFeature.self) !== feature)
        #expect(try await again.feature(NameFeature.self).name() == "AB")
    }

    @Test func `disconnecting ends it in the same way`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let device = try await devices.connect(to: try #require(try await discovered(devices)))
        try await device.disconnect()
        _ = try await device.untilDisconnected()
        #expect(await !fake.grip.isConnected)
    }

    func discovered(_ devices: Devices) async throws -> DiscoveredDevice? {
        for try await list in devices.nearby() { return list.first }
        return nil
    }

    @Test func `a connect right after a cancelled one gets a device that stays`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let found = try #require(try await discovered(devices))
        let first = Task { try await devices.connect(to: found) }
        await until { await fake.peripheral.connectionState == .connected }
        first.cancel()
        let device = try await world.asTimePasses { try await devices.connect(to: found) }
        _ = await first.result
        for _ in 0..<300 { await Task.yield() }
        #expect(try await device.feature(NameFeature.self).name() == "AB")
        #expect(await devices.device(serial: FakeDevice.serial) === device)
    }

    @Test func `features learn of the end also when the devices have been released`() async throws {
        let fake = try await fake()
        let device = try await devices().connect(serial: FakeDevice.serial)
        let feature = try device.feature(NameFeature.self)
        await fake.grip.dropLink()
        await until { feature.learned.value.last == "disconnected: disconnected" }
    }

    @Test func `with the adapter off connecting fails at once`() async throws {
        _ = try await fake()
        await world.radio.setPowered(false)
        await until { await world.central.adapterState == .poweredOff }
        await expectError(.poweredOff) { try await devices().connect(serial: FakeDevice.serial) }
    }

    @Test(arguments: ["", "0102", "01020304050g", "0102030405060708"])
    func `an invalid serial number is refused`(_ serial: String) async throws {
        await expectError(.invalidArgument) { try await devices().connect(serial: serial) }
        await expectError(.invalidArgument) { try await devices().forget(serial: serial) }
    }

    // MARK: Claims

    @Test func `a feature sends only what it has claimed, and what is not configured is not found`() async throws {
        let fake = try await fake()
        let device = try await devices().connect(serial: FakeDevice.serial)
        await expectError(.commandConflict) { try await device.feature(NameFeature.self).stray() }
        #expect(fake.requests.isEmpty)
        final class Unknown: Feature {
            static let commands: Set<MessageCommand> = []
            let handler: MessageHandler
            init(handler: MessageHandler) { self.handler = handler }
        }
        await expectError(.featureNotFound) { try device.feature(Unknown.self) }
    }

    @Test func `two features with one command make no configuration`() async throws {
        final class Rival: Feature {
            static let commands = NameFeature.commands
            let handler: MessageHandler
            init(handler: MessageHandler) { self.handler = handler }
        }
        let error = await expectError(.commandConflict) {
            try Devices.Configuration(features: [NameFeature.self, Rival.self])
        }
        #expect(error?.message.contains("0x0201") == true)
        await expectError(.commandConflict) {
            try Devices.Configuration(
                features: [NameFeature.self],
                encryption: MessageEncryption(
                    derivation: KeyDerivation(salt: "", info: ""), command: MessageCommand(rawValue: 0x0201)))
        }
    }

    // MARK: Remembering

    @Test func `a device that was connected to is saved until it is forgotten`() async throws {
        let fake = try await fake()
        let devices = try devices()
        _ = try await devices.connect(serial: FakeDevice.serial)
        #expect(
            try await devices.savedDevices() == [
                SavedDevice(serial: FakeDevice.serial, name: "Fake", peripheral: fake.peripheral.id)
            ])
        try await devices.forget(serial: FakeDevice.serial)
        #expect(try await devices.savedDevices().isEmpty)
    }
}
