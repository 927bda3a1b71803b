import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Several peripherals that claim one serial number, as anybody can.
@Suite(.hangLimit) struct DeviceCandidatesTests {
    private let world: SimulatedWorld
    private let storage = MemoryDeviceStorage()

    init() async throws { world = try await SimulatedWorld() }

    private func devices(_ encryption: MessageEncryption? = nil) throws -> Devices {
        Devices(
            world.central, configuration: try Devices.Configuration(features: [], encryption: encryption),
            storage: storage)
    }

    private func fake(_ name: String, _ secure: FakeSecureDevice? = nil) async throws -> FakeDevice {
        try await FakeDevice(in: world, advertisement: FakeDevice.advertisement(name: name)) {
            secure?.answer($0) ?? []
        }
    }

    /// A peripheral with the serial number that is no device.
    private func impostor() async throws -> Peripheral {
        let definition = PeripheralDefinition(advertisement: FakeDevice.advertisement(name: "Impostor"), services: [])
        return try await world.add(definition).peripheral
    }

    private func save(_ peripheral: Peripheral.ID? = nil, name: String? = nil, key: MessageKey? = nil) async {
        await storage.update(FakeDevice.serial) { _ in
            SavedDevice(serial: FakeDevice.serial, name: name, peripheral: peripheral, key: key)
        }
    }

    private var saved: SavedDevice? { get async { await storage.device(FakeDevice.serial) } }

    /// Has so many peripherals with the serial number listed.
    private func list(_ devices: Devices, _ count: Int) async throws -> [DiscoveredDevice] {
        try await world.asTimePasses {
            for try await list in devices.nearby() where list.count == count { return list }
            return []
        }
    }

    /// Connects to a device that is heard as soon as a scan begins. No time passes, so nothing is waited for in vain.
    private func connectAtOnce(_ devices: Devices) async throws -> Device {
        // A scan that begins before the last is over hears nothing new before time passes.
        await until { world.clock.sleeperCount == 0 }
        return try await devices.connect(serial: FakeDevice.serial)
    }

    private func connect(_ devices: Devices) async throws -> Device {
        try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) {
            try await devices.connect(serial: FakeDevice.serial)
        }
    }

    @Test func `all that claim a serial number are listed`() async throws {
        let peripherals = [try await fake("First").peripheral, try await fake("Second").peripheral]
        let list = try await list(devices(), 2)
        #expect(list.map(\.serial) == [FakeDevice.serial, FakeDevice.serial])
        #expect(Set(list.map(\.peripheral.id)) == Set(peripherals.map(\.id)))
    }

    // MARK: The saved one

    @Test(arguments: [0, 1], [false, true])
    func `the saved peripheral is the device, whoever advertises last`(_ index: Int, _ isListed: Bool) async throws {
        let fakes = [try await fake("First"), try await fake("Second")]
        await save(fakes[index].peripheral.id)
        let devices = try devices()
        if isListed { _ = try await list(devices, 2) }
        let device = try await connectAtOnce(devices)
        #expect(device.peripheral == fakes[index].peripheral)
        #expect(await !fakes[1 - index].grip.isConnected)
        #expect(await saved?.peripheral == fakes[index].peripheral.id)
    }

    @Test func `the saved peripheral is waited for, also when another one is listed`() async throws {
        let genuine = try await fake("Genuine")
        await genuine.grip.setAdvertising(false)
        await save(genuine.peripheral.id)
        _ = try await fake("Spoofer")
        let devices = try devices()
        for try await list in devices.nearby() where list.count == 1 { break }
        let waiting = Task { try await devices.connect(serial: FakeDevice.serial) }
        await world.clock.sleepers(1)
        await genuine.grip.setAdvertising(true)
        let found = try await waiting.value
        #expect(found.peripheral == genuine.peripheral)
    }

    @Test func `who answers in place of a silent saved peripheral is not saved`() async throws {
        let genuine = try await fake("Genuine")
        await genuine.grip.setAdvertising(false)
        await save(genuine.peripheral.id, name: "Genuine")
        let spoofer = try await fake("Spoofer")
        // Without encryption nothing tells that it is another device.
        #expect(try await connect(devices()).peripheral == spoofer.peripheral)
        #expect(
            await saved == SavedDevice(serial: FakeDevice.serial, name: "Genuine", peripheral: genuine.peripheral.id))
    }

    @Test(arguments: [0, 1])
    func `the peripheral with a bond is the device, whoever advertises last`(_ index: Int) async throws {
        let fakes = [try await fake("First"), try await fake("Second")]
        try await fakes[index].peripheral.pair()
        try await fakes[index].peripheral.disconnect()
        let devices = try devices(FakeSecureDevice.encryption(.bound))
        _ = try await list(devices, 2)
        #expect(try await connectAtOnce(devices).peripheral == fakes[index].peripheral)
        // The bond has proved who it is.
        #expect(await saved?.peripheral == fakes[index].peripheral.id)
    }

    // MARK: Nothing saved

    @Test func `without anything saved the first that was found is tried, not the last that advertises`() async throws {
        let genuine = try await fake("Genuine")
        let spoofer = try await fake("Spoofer")
        let devices = try devices()
        let list = try await list(devices, 2)
        let device = try await connectAtOnce(devices)
        #expect(device.peripheral == list[0].peripheral)
        #expect(await saved?.peripheral == list[0].peripheral.id)
        #expect([genuine.peripheral, spoofer.peripheral].contains(device.peripheral))
    }

    @Test(arguments: [false, true])
    func `the next one is tried after one that is no device, which is not saved`(_ impostorIsLast: Bool) async throws {
        var other: Peripheral?
        if !impostorIsLast { other = try await impostor() }
        let genuine = try await fake("Genuine")
        if impostorIsLast { other = try await impostor() }
        let devices = try devices()
        _ = try await list(devices, 2)
        #expect(try await connectAtOnce(devices).peripheral == genuine.peripheral)
        #expect(await saved?.peripheral == genuine.peripheral.id)
        #expect(await other?.connectionState == .disconnected)
    }

    @Test func `when none of them is a device, the error is that of one, and nothing is saved`() async throws {
        let impostors = [try await impostor(), try await impostor()]
        let devices = try devices()
        _ = try await list(devices, 2)
        await expectError(.serviceNotFound) { try await connect(devices) }
        #expect(await saved == nil)
        for impostor in impostors { #expect(await impostor.connectionState == .disconnected) }
    }

    // MARK: The pairing key

    /// What a spoofer replies to an exchange; nil: that it does not know the key.
    static let forged: [[UInt8]?] = [nil, Array(1...32), Array(1...48)]

    private func key(_ device: FakeDevice) async throws -> MessageKey {
        let keys = MemoryPairingKeys()
        let session = MessageSession(
            device.peripheral, configuration: FakeDevice.transactions,
            encryption: FakeSecureDevice.encryption(.bound), keys: keys)
        try await session.pair()
        await session.close()
        try await device.peripheral.disconnect()
        return try #require(await keys.key())
    }

    @Test(arguments: forged.indices, [false, true])
    func `with a key saved, the one that proves that it has the key is the device, and only that is saved`(
        _ index: Int, _ spooferIsLast: Bool
    ) async throws {
        let impostor = FakeSecureDevice(.bound)
        impostor.forgeExchangeReply(Self.forged[index])
        var spoofer: FakeDevice?
        if !spooferIsLast { spoofer = try await fake("Spoofer", impostor) }
        let genuine = try await fake("Genuine", FakeSecureDevice(.bound))
        let key = try await key(genuine)
        await save(key: key)
        if spooferIsLast { spoofer = try await fake("Spoofer", impostor) }
        let devices = try devices(FakeSecureDevice.encryption(.bound))
        _ = try await list(devices, 2)
        let device = try await connect(devices)
        #expect(device.peripheral == genuine.peripheral)
        #expect(await spoofer?.grip.isConnected == false)
        #expect(
            await saved
                == SavedDevice(
                    serial: FakeDevice.serial, name: "Genuine", peripheral: genuine.peripheral.id, key: key))
        let message = Message(MessageCommand(rawValue: 0x0204), isEncrypted: true, payload: [1, 2])
        #expect(try await device.messages.send(message).payload == [2, 1])
    }

    @Test func `a device that is heard only after a spoofer has failed is found`() async throws {
        let secure = FakeSecureDevice(.bound)
        // It is not known by the serial number yet.
        let genuine = try await FakeDevice(in: world, advertisement: FakeDevice.advertisement([9, 9, 9, 9, 9, 9])) {
            secure.answer($0)
        }
        await save(key: try await key(genuine))
        let spoofer = try await fake("Spoofer", FakeSecureDevice(.bound))
        let devices = try devices(FakeSecureDevice.encryption(.bound))
        let waiting = Task { try await devices.connect(serial: FakeDevice.serial) }
        await spoofer.asked(1)
        await genuine.grip.setAdvertisement(FakeDevice.advertisement(name: "Genuine"))
        let found = try await waiting.value
        #expect(found.peripheral == genuine.peripheral)
    }

    @Test(arguments: forged.indices)
    func `what does not prove that it has the key is not connected to, unless it was chosen`(_ index: Int) async throws
    {
        let genuine = try await fake("Genuine", FakeSecureDevice(.bound))
        let key = try await key(genuine)
        await save(genuine.peripheral.id, name: "Genuine", key: key)
        let before = await saved
        await genuine.grip.remove()
        let impostor = FakeSecureDevice(.bound)
        impostor.forgeExchangeReply(Self.forged[index])
        let spoofer = try await fake("Spoofer", impostor)
        let devices = try devices(FakeSecureDevice.encryption(.bound))
        let error = await expectError(.encryptionFailed) { try await connect(devices) }
        #expect(
            error?.cause as? MessageError == (Self.forged[index] == nil ? .keyUnknownToDevice : .confirmationFailed))
        #expect(await !spoofer.grip.isConnected)
        #expect(await saved == before)
        // Whoever chooses it gets it, and may pair anew: that makes it the device.
        let found = try #require(try await list(devices, 1).first)
        let device = try await devices.connect(to: found)
        #expect(await saved == before)
        impostor.forgeExchangeReply(nil)
        try await device.messages.pair()
        #expect(await saved?.peripheral == spoofer.peripheral.id)
        #expect(await saved?.key != key)
    }

    @Test func `a device that was not paired with is not saved as that peripheral`() async throws {
        let fake = try await fake("Fake", FakeSecureDevice(.bound))
        let devices = try devices(FakeSecureDevice.encryption(.bound))
        let device = try await connectAtOnce(devices)
        #expect(await saved == SavedDevice(serial: FakeDevice.serial, name: "Fake"))
        try await device.messages.pair()
        #expect(await saved?.peripheral == fake.peripheral.id)
    }

    @Test func `a device whose peripheral is another one than before is saved once it has proved its key`() async throws
    {
        let secure = FakeSecureDevice(.bound)
        let old = try await fake("Old", secure)
        await save(old.peripheral.id, key: try await key(old))
        await old.grip.remove()
        let new = try await fake("New", secure)
        #expect(try await connect(devices(FakeSecureDevice.encryption(.bound))).peripheral == new.peripheral)
        #expect(await saved?.peripheral == new.peripheral.id)
    }
}
