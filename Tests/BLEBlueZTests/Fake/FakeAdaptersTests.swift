import BLE
import BLEBlueZ
import BLEFakeBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import DBus
import Testing

/// A fake bluetoothd with several adapters, whose programs find each other, and services that change.
@Suite(.startsProcesses, .hangLimit)
struct FakeAdaptersTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private static let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Served", serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [CharacteristicDefinition(output.key.characteristic, [.read, .notify], value: [9])])
        ])

    private func backend(_ world: BlueZWorld, _ adapter: String) -> BlueZCentral {
        .bluez(adapter: adapter, bus: world.bus.address)
    }

    @Test(arguments: [66, 82])
    func `what a program serves on one adapter, programs on two others find and use`(_ version: Int) async throws {
        let world = try await BlueZWorld(minorVersion: version)
        for name in ["hci1", "hci2"] { await world.daemon.addAdapter(name) }
        let host = try await PeripheralHost(
            backend: .bluez(adapter: "hci0", bus: world.bus.address), configuration: .quiet())
        var centrals: [Central] = []
        try await host.withServed(Self.definition) { served in
            var streams: [NotificationStream<[UInt8]>.AsyncIterator] = []
            for name in ["hci1", "hci2"] {
                let central = try await Central(backend: backend(world, name), configuration: .quiet())
                centrals.append(central)
                let remote = try await central.first(matching: .name("Served"), timeout: HangLimit.step).peripheral
                #expect(try await remote.read(Self.output) == [9])
                streams.append(try await remote.notifications(Self.output).makeAsyncIterator())
            }
            await until { await host.connectedCentrals.count == 2 }
            // An adapter does not receive itself.
            let own = try await Central(backend: backend(world, "hci0"), configuration: .quiet())
            #expect(await own.knownPeripherals().allSatisfy { $0.advertisement.localName != "Served" })
            await own.shutDown()
            try await served.notify([1], from: Self.output)
            for index in streams.indices { #expect(try await streams[index].next() == [1]) }
            await world.daemon.setPowered(false, adapter: "hci1")
            await until { await host.connectedCentrals.count == 1 }
            try await served.notify([2], from: Self.output)
            #expect(try await streams[1].next() == [2])
        }
        for central in centrals { await central.shutDown() }
        await host.shutDown()
    }

    @Test func `an adapter that was off is on after a restart, unless it is blocked`() async throws {
        let world = try await BlueZWorld()
        let battery = await world.radio.add(.battery())
        let central = try await world.makeCentral()
        await world.daemon.setPowered(false)
        await until { await central.adapterState == .poweredOff }
        await world.daemon.kill()
        try await world.daemon.start()
        await until { await central.adapterState == .poweredOn }
        _ = try await central.find(battery.id)
        await world.daemon.setBlocked(true)
        await world.daemon.setPowered(true)
        await until { await central.adapterState == .poweredOff }
        await world.daemon.kill()
        try await world.daemon.start()
        await until { await central.adapterState == .poweredOff }
        await world.daemon.setBlocked(false)
        await until { await central.adapterState == .poweredOn }
        await central.shutDown()
    }

    @Test func `a client that leaves after its adapter was taken out leaves nothing`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.definition)
        var central = try await world.makeCentral()
        _ = try await central.find(lamp.id).notifications(Self.output)
        await world.daemon.setPresent(false)
        await central.shutDown()
        await world.daemon.setPresent(true)
        central = try await world.makeCentral()
        var values = try await central.find(lamp.id).notifications(Self.output, delivery: .socket).makeAsyncIterator()
        await lamp.notify([4], from: Self.output.key.characteristic)
        #expect(try await values.next() == [4])
        await central.shutDown()
    }

    @Test(arguments: ["hci0", "hci1"])
    func `an adapter that was taken out comes back under another name, with its bonds`(_ name: String) async throws {
        let world = try await BlueZWorld()
        let box = await world.radio.add(.sealedBox(), pairing: .justWorks)
        if name != "hci0" { await world.daemon.addAdapter(name) }
        let adapter = try #require(await world.daemon.adapter(name))
        var central = try await Central(backend: backend(world, name), configuration: .quiet())
        try await central.first(matching: .id(box.id), timeout: HangLimit.step).peripheral.pair()
        let address = try await central.adapters().first { $0.id == name }?.address
        await adapter.setPresent(false)
        await until { await central.adapterState == .unavailable }
        await world.daemon.returnAdapter(name, as: "hci2")
        let other = try await Central(backend: backend(world, "hci2"), configuration: .quiet())
        #expect(try await other.adapters().first { $0.id == "hci2" }?.address == address)
        #expect(await other.knownPeripherals().map(\.id) == [box.id])
        let peripheral = other.peripheral(box.id)
        #expect(try await peripheral.isPaired)
        try await peripheral.connect()
        #expect(await box.isConnected)
        #expect(await central.adapterState == .unavailable)
        await central.shutDown()
        await other.shutDown()
        // A daemon that is started again finds it, too.
        await world.daemon.kill()
        try await world.daemon.start()
        central = try await Central(backend: backend(world, "hci2"), configuration: .quiet())
        #expect(try await central.peripheral(box.id).isPaired)
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test func `another program takes sockets and shares the link`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.definition)
        let central = try await world.makeCentral()
        let remote = try await central.find(lamp.id)
        try await remote.connect()
        let handle = try #require(await lamp.handles(of: Self.output.key).first)
        let other = try await OtherProgram(of: world.daemon)
        await expectError(.peripheralNotFound) { try await other.call(.connect, of: "C0:00:00:00:99:99") }
        try await other.call(.connect, of: lamp.id)
        try await other.call(.acquireNotify, of: lamp.id, handle: handle)
        await expectError(.busy) { try await remote.notifications(Self.output) }
        await expectError(.failed) { try await other.call(.acquireNotify, of: lamp.id, handle: handle) }
        await other.leave()
        await until { await world.daemon.socketCount == 0 }
        var values = try await remote.notifications(Self.output).makeAsyncIterator()
        await lamp.notify([4], from: Self.output.key.characteristic)
        #expect(try await values.next() == [4])
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test func `a call that hangs does not outlive its daemon, nor its client`() async throws {
        let world = try await BlueZWorld()
        let start = MethodCall("org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "StartDiscovery")
        let first = try await world.makeSession()
        await world.daemon.hang("StartDiscovery")
        let hanging = Task { try await first.call(start, timeout: HangLimit.step) }
        await world.daemon.untilHung()
        await world.daemon.kill()
        await #expect(throws: DBusError.self) { try await hanging.value }
        try await world.daemon.start()
        #expect(await !world.daemon.isDiscovering)
        await world.daemon.hang("StartDiscovery")
        let second = try await world.makeSession()
        let leaving = Task { try await second.call(start, timeout: HangLimit.step) }
        await world.daemon.untilHung()
        let name = try #require(await second.uniqueName)
        await second.close()
        await #expect(throws: DBusError.self) { try await leaving.value }
        // The bus may read a later call of another connection first. The daemon has noticed the end that the bus tells
        // it once it has answered a later call.
        let hasOwner = MethodCall.bus("NameHasOwner", [.string(name)])
        while try await first.call(hasOwner, timeout: HangLimit.step).values == [.boolean(true)] {}
        _ = try await first.call(
            MethodCall("org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"),
            timeout: HangLimit.step)
        await world.daemon.release()
        await until { await world.daemon.hungCount == 0 }
        #expect(await !world.daemon.isDiscovering)
        await first.close()
    }

    @Test func `a blocked adapter that is plugged in again is off`() async throws {
        let world = try await BlueZWorld()
        let central = try await world.makeCentral()
        await world.daemon.setBlocked(true)
        await world.daemon.setPresent(false)
        await until { await central.adapterState == .unavailable }
        await world.daemon.setPresent(true)
        await until { await central.adapterState == .poweredOff }
        await world.daemon.setBlocked(false)
        await until { await central.adapterState == .poweredOn }
        await central.shutDown()
    }

    @Test func `an offset out of range is refused`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.definition)
        let central = try await world.makeCentral()
        try await central.find(lamp.id).connect()
        let session = try await world.makeSession()
        let path = try await session.path("org.bluez.GattCharacteristic1")
        for offset in [DBusValue.int32(-1), .uint32(70_000), .int64(.min)] {
            let call = MethodCall(
                "org.bluez", path, "org.bluez.GattCharacteristic1", "ReadValue", [.options(["offset": offset])])
            let error = await #expect(throws: DBusError.self) { try await session.call(call, timeout: HangLimit.step) }
            #expect(error?.name == "org.bluez.Error.InvalidArguments")
        }
        await session.close()
        await central.shutDown()
    }

    @Test func `services that change keep the objects of those that do not`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.definition)
        let central = try await world.makeCentral()
        let remote = try await central.find(lamp.id)
        #expect(try await remote.read(Self.output) == [9])
        var values = try await remote.notifications(Self.output).makeAsyncIterator()
        let battery = ServiceDefinition(
            .battery, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), .read, value: [50])])
        await lamp.setServices(Self.definition.services + [battery])
        await until { (try? await remote.read(.batteryLevel)) == 50 }
        await lamp.notify([3], from: Self.output.key.characteristic)
        #expect(try await values.next() == [3])
        await lamp.setServices(Self.definition.services)
        await until {
            do {
                _ = try await remote.read(.batteryLevel)
                return false
            } catch {
                return true
            }
        }
        // Its service is as before, and so is its value.
        #expect(try await remote.read(Self.output) == [3])
        await central.shutDown()
    }
}
