import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Devices that are discovered, connected and remembered, and the calls of their features.
@Suite(.hangLimit) struct DevicesTests {
    let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// Notes what it learns of its connection.
    final class NameFeature: Feature {
        static let commands: Set<MessageCommand> = [MessageCommand(rawValue: 0x0201)]
        let handler: MessageHandler
        let learned = SharedValue<[String]>([])

        init(handler: MessageHandler) { self.handler = handler }

        func name() async throws -> String {
            let reply = try await handler.send(Message(MessageCommand(rawValue: 0x0201)))
            return String(decoding: reply.payload, as: UTF8.self)
        }

        func stray() async throws { try await handler.send(Message(MessageCommand(rawValue: 0x0999))) }

        func connected() async { learned.change { $0.append("connected") } }
        func ready() async { learned.change { $0.append("ready") } }
        func disconnected(_ error: BLEError) async { learned.change { $0.append("disconnected: \(error.code)") } }
    }

    final class OtherFeature: Feature {
        static let commands: Set<MessageCommand> = [MessageCommand(rawValue: 0x0202)]
        let handler: MessageHandler
        init(handler: MessageHandler) { self.handler = handler }
    }

    func devices(
        storage: any DeviceStorage = MemoryDeviceStorage(), attempts: Int = 3
    ) throws -> Devices {
        Devices(
            world.central,
            configuration: try Devices.Configuration(
                features: [NameFeature.self, OtherFeature.self], connectAttempts: attempts), storage: storage)
    }

    func fake(_ advertisement: Advertisement? = nil) async throws -> FakeDevice {
        try await FakeDevice(in: world, advertisement: advertisement) { _ in [FakeDevice.reply(0x0201, [0x41, 0x42])] }
    }

    // MARK: Finding

    static let strangers: [(String, Advertisement)] = [
        ("too little data", FakeDevice.advertisement([1, 2, 3, 4, 5])),
        ("no data", FakeDevice.advertisement([])),
        (
            "another company",
            Advertisement(rssi: -50, serviceUUIDs: [FakeDevice.service], manufacturerData: [1: [1, 2, 3, 4, 5, 6]])
        ),
        ("another service", Advertisement(rssi: -50, manufacturerData: [0xFFFF: [1, 2, 3, 4, 5, 6]])),
    ]

    @Test(arguments: strangers) func `other peripherals are not listed`(
        _ name: String, _ advertisement: Advertisement
    ) async throws {
        _ = try await fake(advertisement)
        _ = try await fake(FakeDevice.advertisement([0xAB, 2, 3, 4, 5, 6, 7]))
        try await world.asTimePasses {
            for try await list in try devices().nearby() where !list.isEmpty {
                #expect(list.map(\.serial) == ["ab0203040506"])
                break
            }
        }
    }

    @Test func `a device that is silent leaves the list`() async throws {
        let fake = try await fake()
        var lists = try devices().nearby().makeAsyncIterator()
        #expect(try await lists.next()?.map(\.serial) == [FakeDevice.serial])
        await fake.grip.setAdvertising(false)
        try await world.asTimePasses {
            while let list = try await lists.next(), !list.isEmpty {}
        }
    }

    // MARK: Connecting

    @Test func `a device is connected to by its serial number, and its features work`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let device = try await devices.connect(serial: FakeDevice.serial.uppercased())
        #expect(device.serial == FakeDevice.serial)
        #expect(try await device.feature(NameFeature.self).name() == "AB")
        #expect(try device.feature(NameFeature.self).learned.value == ["connected", "ready"])
        #expect(await devices.device(serial: FakeDevice.serial) === device)
        #expect(await devices.connectedDevices.count == 1)
        #expect(await devices.device(serial: "01:02:03:04:05:06") === device)
        #expect(await fake.grip.subscriberCount(of: FakeDevice.reply.characteristic) == 1)
        // A second request gets the same device.
        #expect(try await devices.connect(serial: FakeDevice.serial) === device)
    }

    @Test func `callers at the same time share one connection`() async throws {
        _ = try await fake()
        let devices = try devices()
        async let first = devices.connect(serial: FakeDevice.serial)
        async let second = devices.connect(serial: FakeDevice.serial)
        #expect(try await first === second)
    }

    @Test func `a listed device is connected to without another scan`() async throws {
        let fake = try await fake()
        let devices = try devices()
        for try await _ in devices.nearby() { break }
        await fake.grip.setAdvertisement(FakeDevice.advertisement([9, 9, 9, 9, 9, 9]))
        // A scan would not find it any more.
        let device = try await devices.connect(serial: FakeDevice.serial)
        #expect(device.peripheral == fake.peripheral)
    }

    @Test func `a device that has a link already is found without a scan`() async throws {
        let fake = try await fake()
        try await fake.peripheral.connect()
        let device = try await devices().connect(serial: FakeDevice.serial)
        #expect(device.peripheral == fake.peripheral)
    }

    @Test func `a device that is not there is not found, after the connect timeout`() async throws {
        let devices = try devices()
        let waiting = Task { try await devices.connect(serial: "aabbccddeeff") }
        await world.clock.sleepers(1)
        world.clock.advance(by: .seconds(15))
        await expectError(.peripheralNotFound) { try await waiting.value }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test(arguments: [1, 3]) func `so many attempts are made as the configuration says`(_ attempts: Int) async throws {
        let fake = try await fake()
        let devices = try devices(attempts: attempts)
        let found = try #require(try await discovered(devices))
        // Without advertising there is no link.
        await fake.grip.setAdvertising(false)
        let events = await fake.peripheral.connectionEvents()
        _ = await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) {
            await expectError(.timedOut) { try await devices.connect(to: found) }
        }
        await until { world.clock.sleeperCount == 0 }
        await world.central.shutDown()
        var count = 0
        do { for try await event in events { if case .connecting = event { count += 1 } } } catch {}
        #expect(count == attempts)
    }

    @Test func `an attempt that fails is followed by one that succeeds`() async throws {
        let fake = try await fake()
        let devices = try devices()
        let found = try #require(try await discovered(devices))
        await fake.grip.setAdvertising(false)
        let waiting = Task { try await devices.connect(to: found) }
        await until { await fake.peripheral.connectionState == .connecting }
        await world.clock.sleepers(1, for: .seconds(15))
        world.clock.advance(by: .seconds(15))
        await fake.grip.setAdvertising(true)
        let device = try await world.asTimePasses { try await waiting.value }
        #expect(try await device.feature(NameFeature.self).name() == "AB")
    }
}
