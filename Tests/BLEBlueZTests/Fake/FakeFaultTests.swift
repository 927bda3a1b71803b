import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import DBus
import Loop
import Testing

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

/// What several clients of the fake bluetoothd do while a fault of the radio holds something up. What one central sees
/// is in `RadioContract`.
@Suite(.startsProcesses, .hangLimit)
struct FakeFaultTests {
    private static let adapter = "/org/bluez/hci0"
    private static let characteristic = "org.bluez.GattCharacteristic1"
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))

    private static let thing = PeripheralDefinition(
        advertisement: Advertisement(localName: "Thing", rssi: -50), advertisingInterval: .milliseconds(20),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [CharacteristicDefinition(output.key.characteristic, [.read, .notify], value: [1])])
        ])

    /// A call, begun now.
    private func call(
        _ program: BusSession, _ path: String, _ interface: String, _ method: String, _ arguments: DBusValue...
    ) -> Task<Result<MethodReply, DBusError>, Never> {
        Task {
            do throws(DBusError) {
                return .success(
                    try await program.call(
                        MethodCall("org.bluez", path, interface, method, arguments), timeout: HangLimit.step))
            } catch {
                return .failure(error)
            }
        }
    }

    private func error(_ result: Result<MethodReply, DBusError>) -> DBusError? {
        if case .failure(let error) = result { error } else { nil }
    }

    // MARK: Scans

    enum Leaving: CaseIterable { case stop, leave, kill }

    @Test(arguments: Leaving.allCases)
    func `a scan that is held does not begin for a client that left, and can be stopped once it has begun`(
        _ leaving: Leaving
    ) async throws {
        let clock = ManualClock()
        let world = try await BlueZWorld(clock: clock)
        _ = await world.radio.add(Self.thing)
        let (program, other) = (try await world.makeSession(), try await world.makeSession())
        let held = await world.radio.hold(.scan)
        let scan = call(program, Self.adapter, "org.bluez.Adapter1", "StartDiscovery")
        await held.disturbed()
        switch leaving {
        case .stop:
            let stop = call(program, Self.adapter, "org.bluez.Adapter1", "StopDiscovery")
            #expect(error(await stop.value)?.name == "org.bluez.Error.InProgress")
        case .leave:
            await program.close()
            await until { await world.daemon.discoveringAdapters == 0 }
        case .kill:
            await world.daemon.kill()
            try await world.daemon.start()
        }
        await held.release()
        _ = await scan.value
        if leaving == .stop { try await program.callBlueZ(Self.adapter, "org.bluez.Adapter1", "StopDiscovery") }
        // Each call is a turn of the daemon.
        for _ in 0..<4 { try await other.callBlueZ("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") }
        await until { clock.sleeperCount == 0 }
        await program.close()
        await other.close()
        await world.daemon.kill()
    }

    @Test func `a filter that is held does not begin a scan for a client that has stopped it`() async throws {
        let clock = ManualClock()
        let world = try await BlueZWorld(clock: clock)
        _ = await world.radio.add(Self.thing)
        let program = try await world.makeSession()
        try await program.callBlueZ(Self.adapter, "org.bluez.Adapter1", "StartDiscovery")
        let held = await world.radio.hold(.scan)
        let filter = call(
            program, Self.adapter, "org.bluez.Adapter1", "SetDiscoveryFilter",
            .options(["Transport": .string("le")]))
        await held.disturbed()
        try await program.callBlueZ(Self.adapter, "org.bluez.Adapter1", "StopDiscovery")
        await until { await !world.daemon.isDiscovering }
        await until { clock.sleeperCount == 0 }
        await held.release()
        _ = await filter.value
        for _ in 0..<4 { try await program.callBlueZ("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") }
        #expect(clock.sleeperCount == 0)
        await program.close()
        await world.daemon.kill()
    }

    @Test func `a scan that fails after others have stopped ends what they had, and tells it`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(Self.thing)
        let signals = SharedValue<[String]>([])
        let watcher = try await world.makeSession { message in
            guard message.member == "PropertiesChanged" else { return }
            var body = message.body
            guard let interface = try? body.string() else { return }
            try? body.forEachProperty { (name, value) throws(DBusError) in
                if interface == "org.bluez.Adapter1", name == "Discovering" {
                    let isDiscovering = try value.boolean()
                    signals.change { $0.append("\(isDiscovering)") }
                }
            }
        }
        try await watcher.listen("type='signal',sender='org.bluez'", timeout: HangLimit.step)
        let (first, second) = (try await world.makeSession(), try await world.makeSession())
        try await first.callBlueZ(Self.adapter, "org.bluez.Adapter1", "StartDiscovery")
        try await signals.until { $0 == ["true"] }
        _ = try await watcher.path("org.bluez.Device1", ["Address": .string(thing.id.rawValue)])
        let held = await world.radio.hold(.scan, .next(1))
        await world.radio.fail(.scan, .next(1))
        let scan = call(second, Self.adapter, "org.bluez.Adapter1", "StartDiscovery")
        await held.disturbed()
        // The other one is about to begin, so this ends nothing yet.
        try await first.callBlueZ(Self.adapter, "org.bluez.Adapter1", "StopDiscovery")
        for _ in 0..<4 { try await first.callBlueZ("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") }
        #expect(signals.value == ["true"])
        await held.release()
        #expect(error(await scan.value)?.message == "Failed to start discovery")
        try await signals.until { $0 == ["true", "false"] }
        for session in [watcher, first, second] { await session.close() }
        await world.daemon.kill()
    }

    // MARK: Sockets

    /// A thing that a central has connected to, and a program that knows the path of its characteristic.
    private func withThing(
        _ check: (BlueZWorld, SimulatedPeripheral, BusSession, String) async throws -> Void
    ) async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(Self.thing)
        let central = try await world.makeCentral()
        try await central.find(thing.id).connect()
        let program = try await world.makeSession()
        let path = try await program.path(
            Self.characteristic, ["UUID": .string(Self.output.key.characteristic.fullDescription)])
        try await check(world, thing, program, path)
        await program.close()
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test func `of two calls of AcquireNotify at once, one has the socket`() async throws {
        try await withThing { world, thing, program, path in
            let held = await thing.hold(.subscribe)
            let first = call(program, path, Self.characteristic, "AcquireNotify", .options([:]))
            await held.disturbed()
            let second = await call(program, path, Self.characteristic, "AcquireNotify", .options([:])).value
            #expect(error(second)?.message == "Notify acquired")
            let third = await call(program, path, Self.characteristic, "StartNotify").value
            #expect(error(third)?.message == "Notify acquired")
            await held.release()
            let socket = PacketSocket(try #require(try await first.value.get().descriptors.first), on: program.loop)
            #expect(await world.daemon.socketCount == 1)
            program.loop.perform { socket.open(onPacket: { _ in true }, onEnd: {}) }
            program.loop.perform { socket.close() }
            await until { await world.daemon.socketCount == 0 }
            #expect(await thing.subscribers(of: Self.output) == [])
        }
    }

    @Test func `a socket that is refused or whose link ends leaves the characteristic free`() async throws {
        try await withThing { world, thing, program, path in
            await thing.fail(.subscribe, .next(1), with: .insufficientResources)
            let refused = await call(program, path, Self.characteristic, "AcquireNotify", .options([:])).value
            #expect(error(refused) != nil)
            let held = await thing.hold(.subscribe)
            let stopped = call(program, path, Self.characteristic, "AcquireNotify", .options([:]))
            await held.disturbed()
            try await program.callBlueZ(path, Self.characteristic, "StopNotify")
            await held.release()
            let ended = await stopped.value
            #expect(error(ended) != nil)
            #expect(await world.daemon.socketCount == 0)
            #expect(await thing.subscribers(of: Self.output) == [])
            let next = await call(program, path, Self.characteristic, "AcquireNotify", .options([:])).value
            #expect(try next.get().descriptors.count == 1)
        }
    }

    @Test func `the turns of notifications leave nothing behind`() async throws {
        try await withThing { world, thing, program, path in
            for _ in 1...3 {
                async let first = program.callBlueZ(path, Self.characteristic, "StartNotify")
                async let second = program.callBlueZ(path, Self.characteristic, "StopNotify")
                _ = try? await (first, second)
            }
            await until { await world.daemon.notifyTurns.isEmpty }
        }
    }

    // MARK: Faults of one characteristic

    @Test func `bluetoothd's own reads count like those of its clients`() async throws {
        let world = try await BlueZWorld(isAsInstalled: true)
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let level = await strap.delay(.read(of: .batteryLevel), by: .zero)
        let location = await strap.delay(.read(of: .bodySensorLocation), by: .zero)
        let central = try await world.makeCentral()
        let peripheral = try await central.find(strap.id)
        try await peripheral.connect()
        #expect(await level.count == 1)
        #expect(await location.count == 0)
        _ = try await peripheral.read(.batteryLevel)
        #expect(await level.count == 2)
        #expect(await location.count == 0)
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test func `a failed read without a code of its own is read twice`() async throws {
        let world = try await BlueZWorld()
        let thing = await world.radio.add(Self.thing)
        let central = try await world.makeCentral()
        let peripheral = try await central.find(thing.id)
        try await peripheral.connect()
        // 0x0E may mean that bluetoothd has lost the answer, so the backend repeats the read once.
        let usual = await thing.fail(.read(of: Self.output), .next(2))
        await expectError(.attributeError) { try await peripheral.read(Self.output) }
        #expect(await usual.count == 2)
        let own = await thing.fail(.read(of: Self.output), .next(2), with: .insufficientResources)
        await expectError(.attributeError) { try await peripheral.read(Self.output) }
        #expect(await own.count == 1)
        await central.shutDown()
        await world.daemon.kill()
    }
}
