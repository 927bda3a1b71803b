import BLE
import BLEFeatures
import BLESimulation
import BLETesting
import SmartLock
import Testing

/// What becomes of exchanges when the link goes in the middle of them, or when replies come late.
@Suite(.hangLimit)
struct LockLinkTests {
    /// Drops the link while `call` stands still at `point`, and looks at what is left.
    private func check(
        _ point: SimulatedLock.Point, _ world: LockWorld, _ device: Device, sleepers: Int,
        _ call: @escaping @Sendable (Device) async throws -> Void
    ) async throws {
        let access: LockAccess = try device.feature()
        #expect(access.lastKnownState != nil)
        await world.lock.hold(at: point)
        let caller = Task { try await call(device) }
        await until { await world.lock.isHolding }
        await world.grip.dropLink()
        // The clock stands still: whatever ends, ends at once.
        await expectError(.disconnected) { try await caller.value }
        await expectError(.disconnected) { try await call(device) }
        await world.lock.release()
        // Connecting again does not find the device that is over.
        let again = try await world.connect()
        #expect(again !== device)
        await until { access.lastKnownState == nil }
        #expect(await world.subscriberCount == 1)
        try await call(again)
        try await again.disconnect()
        await until { world.clock.sleeperCount == sleepers }
        #expect(await world.subscriberCount == 0)
        #expect(await world.devices.connectedDevices.isEmpty)
    }

    @Test(arguments: LockExchange.plain + [.pairing], SimulatedLock.Point.allCases)
    func `a link that drops in the middle of a plain exchange ends it at once`(
        _ exchange: LockExchange, _ point: SimulatedLock.Point
    ) async throws {
        let world = try await LockWorld(partLength: 4)
        let sleepers = world.clock.sleeperCount
        try await check(point, world, world.connect(), sleepers: sleepers, exchange.call)
    }

    @Test(
        arguments: LockExchange.encrypted,
        [MessageCipher.Mode.bound, .firmware].flatMap { mode in SimulatedLock.Point.allCases.map { (mode, $0) } })
    func `a link that drops in the middle of an encrypted exchange ends it at once`(
        _ exchange: LockExchange, _ place: (mode: MessageCipher.Mode, point: SimulatedLock.Point)
    ) async throws {
        let world = try await LockWorld(mode: place.mode, partLength: 4)
        let sleepers = world.clock.sleeperCount
        try await check(place.point, world, world.pair(), sleepers: sleepers, exchange.call)
    }

    @Test(arguments: SimulatedLock.Point.allCases)
    func `a link that drops while a pairing is resumed ends what wanted it at once`(
        _ point: SimulatedLock.Point
    ) async throws {
        let world = try await LockWorld(partLength: 4)
        let sleepers = world.clock.sleeperCount
        let first = try await world.pair()
        try await first.disconnect()
        try await check(point, world, world.connect(), sleepers: sleepers) {
            try await $0.feature(LockAccess.self).setState(.unlocked)
        }
        #expect(await world.lock.memory.state == .unlocked)
    }

    @Test func `a link that drops while features get ready is made again`() async throws {
        let world = try await LockWorld()
        await world.lock.hold(at: .reply)
        let caller = Task { try await world.connect() }
        await until { await world.lock.isHolding }
        await world.grip.dropLink()
        // The next attempt may have come to the same point.
        await world.lock.release()
        let device = try await world.radio.asTimePasses { try await caller.value }
        #expect(try device.feature(LockAccess.self).lastKnownState == .locked)
    }

    @Test(arguments: [SimulatedLock.Point.reply, .rest])
    func `the networks end with the link, and half a name is none`(_ point: SimulatedLock.Point) async throws {
        let world = try await LockWorld(partLength: 7)
        let network: LockNetwork = try await world.connect().feature()
        let updates = await network.updates()
        _ = try await network.startListening()
        let reader = Task {
            var names: [String] = []
            do throws(BLEError) {
                for try await name in updates { names.append(name) }
            } catch {
                return (names, BLEError.Code?.some(error.code))
            }
            return (names, BLEError.Code?.none)
        }
        await world.lock.hold(at: point)
        try await world.lock.findNetwork("Attic")
        await until { await world.lock.isHolding }
        await world.grip.dropLink()
        let (names, code) = await reader.value
        #expect(names.isEmpty && code == .disconnected)
        await world.lock.release()
        let again: LockNetwork = try await world.connect().feature()
        #expect(try await again.startListening().last == "Attic")
    }

    @Test func `two requests of one command get their own replies, in order`() async throws {
        let world = try await LockWorld(partLength: 3)
        let network: LockNetwork = try await world.connect().feature()
        await world.lock.hold(at: .reply)
        let first = Task { try await network.join("Elsewhere", password: "") }
        await until { await world.lock.isHolding }
        let held = await world.lock.lastRequest
        let second = Task { try await network.join("Home", password: "") }
        let third = Task { try await network.join("Nowhere", password: "") }
        #expect(await world.lock.lastRequest == held)
        await world.lock.release()
        await #expect(throws: LockError.unknownNetwork("Elsewhere")) { try await first.value }
        try await second.value
        await #expect(throws: LockError.unknownNetwork("Nowhere")) { try await third.value }
    }

    @Test func `a late reply is not taken for the next one`() async throws {
        let world = try await LockWorld()
        let device = try await world.connect()
        let network: LockNetwork = try device.feature()
        await world.lock.hold(at: .reply)
        let late = Task { try await network.join("Elsewhere", password: "") }
        await until { await world.lock.isHolding }
        await until { await device.messages.counters.written == 2 && world.clock.sleeperCount == 1 }
        world.clock.advance(by: .seconds(10))
        await expectError(.commandTimedOut) { try await late.value }
        let next = Task { try await network.join("Home", password: "") }
        await world.lock.release()
        try await next.value
        #expect(await device.messages.counters.late == 1)
        #expect(await device.messages.counters.unmatched == 0)
    }

    @Test func `nobody waits for a late reply when the link has gone`() async throws {
        let world = try await LockWorld()
        let device = try await world.connect()
        let access: LockAccess = try device.feature()
        await world.lock.hold(at: .reply)
        let caller = Task { try await access.state() }
        await until { await world.lock.isHolding }
        await until { await device.messages.counters.written == 2 && world.clock.sleeperCount == 1 }
        caller.cancel()
        await expectError(.cancelled) { try await caller.value }
        // Until now the reply would have been known for a late one.
        await until { world.clock.sleeperCount == 1 }
        await world.grip.dropLink()
        // Something else may sleep afterwards, such as the next attempt to connect.
        await until { world.clock.sleeperCount == 0 }
    }
}
