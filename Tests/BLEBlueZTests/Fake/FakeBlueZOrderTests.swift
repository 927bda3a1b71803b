import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// bluetoothd has one thread: messages that it sends together arrive together. The fake one has several threads.
@Suite(.startsProcesses, .hangLimit)
struct FakeBlueZOrderTests {
    @Test func `nothing comes between the signal of a read and its answer`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing", level: 90))
        let central = try await world.makeCentral()
        let battery = try #require(try await central.discoveries().first { _ in true }).peripheral
        try await battery.connect()
        let level = CharacteristicKey(characteristic: BluetoothUUID(0x2A19))
        var values = try await battery.notifications(level.bytes).makeAsyncIterator()
        // If the answer did not follow at once, its value would be taken for a notification.
        for _ in 0..<500 { _ = try await battery.read(level.bytes) }
        await thing.notify([1], from: level.characteristic)
        #expect(try await values.next() == [1])
        await central.shutDown()
    }

    @Test func `objects that come and go before the list of all objects is sent are as the list says`() async throws {
        let world = try await BlueZWorld()
        let old = await world.radio.add(.battery(name: "Old"))
        let other = try await world.makeCentral()
        let removed = try await other.first(matching: .id(old.id)).peripheral
        try await removed.pair()
        await world.daemon.hang("GetManagedObjects")
        let starting = Task { try await world.makeCentral() }
        await world.daemon.untilHung()
        await old.setAdvertising(false)
        try await removed.unpair()
        let new = await world.radio.add(.battery(name: "New"))
        _ = try await other.first(matching: .id(new.id))
        await world.daemon.release()
        let central = try await starting.value
        #expect(await central.knownPeripherals().map(\.id) == [new.id])
        await central.shutDown()
        await other.shutDown()
    }

    @Test func `the link of an interrupted attempt has ended before the next attempt`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        let clock = ManualClock()
        let central = try await world.makeCentral(.quiet(clock: clock))
        let battery = try await central.first(matching: .id(thing.id)).peripheral
        await world.daemon.abortConnection()
        await world.daemon.hang("Disconnected")
        let connecting = Task { try await battery.connect() }
        await world.daemon.untilHung()
        // The wait for the link's end, beside the connect's own deadline.
        await clock.sleepers(1, for: .seconds(2))
        await world.daemon.release()
        await clock.sleepers(1, for: .milliseconds(200))
        clock.advance(by: .milliseconds(200))
        try await connecting.value
        #expect(await world.daemon.calls["Connect"] == 2)
        #expect(try await battery.read(.batteryLevel) == 90)
        await central.shutDown()
    }
}
