import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
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

    /// `remove_device` in the daemon's `src/adapter.c`: the link ends, and then its object is removed.
    @Test(arguments: [66, 82], [false, true])
    func `a device that is removed loses its link before its object`(minorVersion: Int, isPaired: Bool) async throws {
        let world = try await BlueZWorld(minorVersion: minorVersion)
        let thing = await world.radio.add(.battery(name: "Thing"))
        let central = try await world.makeCentral()
        let battery = try await central.find(thing.id)
        try await battery.connect()
        if isPaired { try await battery.pair() }
        let signals = SharedValue<[String]>([])
        let program = try await world.makeSession { message in
            var body = message.body
            switch message.member {
            case "PropertiesChanged" where message.path.hasPrefix("/org/bluez/hci0/dev_"):
                guard (try? body.string()) == "org.bluez.Device1" else { return }
                try? body.forEachProperty { (name, value) throws(DBusError) in
                    if name == "Connected" {
                        let isConnected = try value.boolean()
                        signals.change { $0.append("connected: \(isConnected)") }
                    }
                }
            case "InterfacesRemoved":
                guard let path = try? body.objectPath(), !path.contains("service") else { return }
                signals.change { $0.append("removed") }
            default: break
            }
        }
        try await program.listen("type='signal',sender='org.bluez'", timeout: HangLimit.step)
        let path = try await program.path("org.bluez.Device1")
        try await program.callBlueZ("/org/bluez/hci0", "org.bluez.Adapter1", "RemoveDevice", .objectPath(path))
        #expect(await thing.isConnected == false)
        try await signals.until { $0.contains("removed") }
        #expect(signals.value == ["connected: false", "removed"])
        await until { await battery.connectionState == .disconnected }
        await program.close()
        await central.shutDown()
        await world.daemon.kill()
    }

    /// `g_dbus_send_message` in the daemon's `gdbus/object.c` sends pending signals before an answer. bleak takes a link
    /// that is answered but not signaled for one that has ended.
    @Test func `a link is signaled before the answer to the call that has made it`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(.battery(name: "Thing"))
        let central = try await world.makeCentral()
        _ = try await central.find(thing.id)
        let messages = SharedValue<[String]>([])
        let program = try await world.makeSession { message in
            var body = message.body
            guard message.member == "PropertiesChanged", (try? body.string()) == "org.bluez.Device1" else { return }
            try? body.forEachProperty { (name, value) throws(DBusError) in
                if name == "Connected", try value.boolean() { messages.change { $0.append("signal") } }
            }
        }
        try await program.listen("type='signal',sender='org.bluez'", timeout: HangLimit.step)
        let path = try await program.path("org.bluez.Device1")
        let connect = MethodCall("org.bluez", path, "org.bluez.Device1", "Connect", [])
        for _ in 0..<30 {
            try await program.ask(connect, timeout: HangLimit.step) { (_) throws(DBusError) in
                messages.change { $0.append("answer") }
            }
            try await program.callBlueZ(path, "org.bluez.Device1", "Disconnect")
        }
        #expect(messages.value == (0..<30).flatMap { _ in ["signal", "answer"] })
        await program.close()
        await central.shutDown()
        await world.daemon.kill()
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
