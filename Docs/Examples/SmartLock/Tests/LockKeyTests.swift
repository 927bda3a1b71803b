import BLE
import BLEFeatures
import BLESimulation
import BLETesting
import FoundationEssentials
import SmartLock
import Testing

/// The keys of a lock: made once, kept, resumed, lost.
@Suite(.hangLimit)
struct LockKeyTests {
    static let modes = [MessageCipher.Mode.bound, .firmware]

    private func unlock(_ device: Device) async throws {
        try await device.feature(LockAccess.self).setState(.unlocked)
    }

    @Test(arguments: modes)
    func `nothing encrypted is sent without a pairing`(_ mode: MessageCipher.Mode) async throws {
        let world = try await LockWorld(mode: mode)
        let device = try await world.connect()
        let last = await world.lock.lastRequest
        let error = await expectError(.encryptionFailed) { try await unlock(device) }
        #expect(error?.cause as? MessageError == .missingKey)
        #expect(await world.lock.lastRequest == last)
    }

    @Test(arguments: modes)
    func `a pairing is remembered over reconnects`(_ mode: MessageCipher.Mode) async throws {
        let storage = MemoryDeviceStorage()
        let world = try await LockWorld(mode: mode, storage: storage)
        let first = try await world.pair()
        let key = try #require(await storage.device(LockWorld.serial)?.key)
        try await first.disconnect()
        let second = try await world.connect()
        #expect(first !== second)
        try await unlock(second)
        #expect(await world.lock.memory.state == .unlocked)
        #expect(await storage.device(LockWorld.serial)?.key == key)
        #expect(await world.lock.rejectedCount == 0)
    }

    @Test(arguments: modes)
    func `a pairing is remembered by the next program, in a file`(_ mode: MessageCipher.Mode) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "lock-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "devices.json").path
        let world = try await LockWorld(mode: mode, storage: FileDeviceStorage(path: path))
        let device = try await world.pair()
        try await device.disconnect()
        let next = Devices(
            world.radio.central, configuration: world.devices.configuration, storage: FileDeviceStorage(path: path))
        #expect(try await next.savedDevices().map(\.name) == ["Simulated Lock"])
        try await unlock(next.connect(serial: LockWorld.serial))
        #expect(await world.lock.memory.state == .unlocked)
    }

    @Test func `a lock that does not know the key says so, and can be paired with anew`() async throws {
        let world = try await LockWorld()
        let device = try await world.pair()
        try await device.feature(LockSettings.self).reset()
        try await device.disconnect()
        let again = try await world.connect()
        let error = await expectError(.encryptionFailed) { try await unlock(again) }
        #expect(error?.cause as? MessageError == .keyUnknownToDevice)
        #expect(error?.remedy != nil)
        try await again.feature(LockAccess.self).pair()
        try await unlock(again)
        #expect(await world.lock.memory.state == .unlocked)
    }

    @Test(arguments: modes)
    func `a lock that has a pairing lets others pair only while its button is held`(
        _ mode: MessageCipher.Mode
    ) async throws {
        let world = try await LockWorld(mode: mode)
        try await world.pair().disconnect()
        // Another user's program, which does not have the key.
        let others = Devices(world.radio.central, configuration: try .smartLock(mode: mode))
        let other: LockAccess = try await others.connect(serial: LockWorld.serial).feature()
        let refused = Task { try await other.pair() }
        await until { await world.lock.rejectedCount == 1 }
        await world.clock.sleepers(1, for: .seconds(10))
        world.clock.advance(by: .seconds(10))
        let error = await expectError(.commandTimedOut) { try await refused.value }
        #expect(error?.remedy?.contains("allows pairing now") == true)
        try await others.device(serial: LockWorld.serial)?.disconnect()
        await world.lock.holdButton(true)
        let allowed: LockAccess = try await others.connect(serial: LockWorld.serial).feature()
        try await allowed.pair()
        try await allowed.setState(.unlocked)
        #expect(await world.lock.memory.state == .unlocked)
        try await others.device(serial: LockWorld.serial)?.disconnect()
        // The first pairing is as good as before.
        let first: LockAccess = try await world.connect().feature()
        try await first.setState(.locked)
        #expect(await world.lock.memory.state == .locked)
        #expect(await world.lock.rejectedCount == 1)
    }

    @Test func `a lock of the first generation that has forgotten the key is silent, which is a timeout`() async throws
    {
        let world = try await LockWorld(mode: .firmware)
        let device = try await world.pair()
        try await device.feature(LockSettings.self).reset()
        let call = Task { try await unlock(device) }
        await until { await world.lock.rejectedCount == 1 }
        await until { await device.messages.counters.written > 0 && world.clock.sleeperCount == 1 }
        world.clock.advance(by: .seconds(10))
        await expectError(.commandTimedOut) { try await call.value }
        #expect(await world.lock.memory.state == .locked)
    }

    @Test(arguments: modes)
    func `after unpairing nothing encrypted is sent`(_ mode: MessageCipher.Mode) async throws {
        let storage = MemoryDeviceStorage()
        let world = try await LockWorld(mode: mode, storage: storage)
        let device = try await world.pair()
        try await unlock(device)
        try await device.feature(LockAccess.self).unpair()
        let error = await expectError(.encryptionFailed) { try await unlock(device) }
        #expect(error?.cause as? MessageError == .missingKey)
        #expect(await storage.device(LockWorld.serial)?.key == nil)
    }

    @Test(arguments: modes)
    func `a reset is answered although its key is forgotten with it`(_ mode: MessageCipher.Mode) async throws {
        let world = try await LockWorld(mode: mode)
        let device = try await world.pair()
        try await unlock(device)
        let reply = try await device.messages.send(Message(.reset, isEncrypted: true))
        #expect(reply.isEncrypted && reply.payload.isEmpty)
        #expect(await world.lock.memory.state == .unlocked)
    }
}
