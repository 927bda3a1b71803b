import BLE
import BLEFakeBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import DBus
import Loop
import Testing

/// What a program gets and hears from the fake bluetoothd that makes its calls itself.
@Suite(.startsProcesses, .hangLimit)
struct FakeCallTests {
    private static let adapter = "org.bluez.Adapter1"
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let manager = "org.freedesktop.DBus.ObjectManager"

    // MARK: Clients

    @Test func `nothing of a client outlives it`() async throws {
        let world = try await BlueZWorld()
        await world.daemon.addAdapter("hci1")
        let program = try await world.makeSession()
        try await program.callBlueZ(
            "/org/bluez", "org.bluez.AgentManager1", "RegisterAgent", .objectPath("/agent"), .string(""))
        for path in ["/org/bluez/hci0", "/org/bluez/hci1"] {
            try await program.callBlueZ(
                path, Self.adapter, "SetDiscoveryFilter", .options(["UUIDs": .strings(["180d"])]))
            try await program.callBlueZ(path, Self.adapter, "StartDiscovery")
        }
        let name = try #require(await program.uniqueName)
        #expect(await world.daemon.agentOwners == [name])
        #expect(await world.daemon.serviceFilters == [name])
        #expect(await world.daemon.discoveringAdapters == 2)
        await program.close()
        await until { await world.daemon.clientCount == 0 }
        #expect(await world.daemon.agentOwners == [])
        #expect(await world.daemon.serviceFilters == [])
        #expect(await world.daemon.discoveringAdapters == 0)
        await world.daemon.kill()
    }

    @Test func `an advertisement is signaled with what it changes, and what it lacks is gone`() async throws {
        let world = try await BlueZWorld(isAsInstalled: true)
        let thing = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "One", rssi: -50, manufacturerData: [1: [2]]),
                advertisingInterval: .milliseconds(20), services: []))
        let signals = SharedValue<[Set<String>]>([])
        let program = try await world.makeSession { message in
            guard message.member == "PropertiesChanged", message.path.hasPrefix("/org/bluez/hci0/dev_") else { return }
            var body = message.body
            var names: Set<String> = []
            _ = try? body.string()
            try? body.forEachProperty { (name, _) throws(DBusError) in names.insert(name.string) }
            signals.change { [names] in $0.append(names) }
        }
        try await program.listen("type='signal',interface='\(Self.properties)'", timeout: HangLimit.step)
        try await program.callBlueZ("/org/bluez/hci0", Self.adapter, "StartDiscovery")
        try await signals.until { $0.contains(["ManufacturerData"]) }
        await thing.setAdvertisement(Advertisement(localName: "Two", rssi: -70))
        try await signals.until { $0.contains(["Name", "Alias", "RSSI"]) }
        signals.change { $0 = [] }
        try await signals.until { $0.contains([]) }
        #expect(signals.value.allSatisfy { $0.isEmpty })
        let path = try await program.path("org.bluez.Device1")
        func get(_ name: String) async throws(DBusError) -> DBusValue? {
            try await program.callBlueZ(
                path, Self.properties, "Get", .string("org.bluez.Device1"), .string(name)
            ).values.first?.unwrapped
        }
        #expect(try await get("Name") == .string("Two"))
        #expect(try await get("Alias") == .string("Two"))
        #expect(try await get("RSSI") == .int16(-70))
        await #expect(throws: DBusError.self) { _ = try await get("ManufacturerData") }
        await program.close()
        await world.daemon.kill()
    }

    // MARK: Sockets

    @Test func `a program that floods a socket is held up until the peripheral takes the writes, and loses none`()
        async throws
    {
        let world = try await BlueZWorld()
        let received = SharedValue<[[UInt8]]>([])
        let input = BluetoothUUID(0xFFE1)
        let thing = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Thing"),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFFE0),
                        characteristics: [
                            CharacteristicDefinition(
                                input, [.writeWithoutResponse],
                                onWrite: { value, _ in received.change { $0.append(value) } })
                        ])
                ]))
        let central = try await world.makeCentral()
        let remote = try await central.find(thing.id)
        try await remote.connect()
        _ = try await remote.services()
        let program = try await world.makeSession()
        let path = try await program.path(
            "org.bluez.GattCharacteristic1", ["UUID": .string(input.fullDescription)])
        let reply = try await program.callBlueZ(
            path, "org.bluez.GattCharacteristic1", "AcquireWrite", .options([:]))
        let socket = PacketSocket(try #require(reply.descriptors.first), on: program.loop)
        program.loop.perform { socket.open(onPacket: nil, onEnd: {}) }

        let held = await thing.hold(.write)
        var count = 0
        var turns = 0
        // Each call is a turn of the daemon's loop, in which it would read what is in the socket.
        while turns < 4, count < 20_000 {
            if try socket.send([UInt8(count & 0xFF), UInt8(count >> 8)]) {
                (count, turns) = (count + 1, 0)
            } else {
                try await program.callBlueZ("/", "org.freedesktop.DBus.Peer", "Ping")
                turns += 1
            }
        }
        #expect(count < 20_000)
        #expect(received.value.isEmpty)
        await held.release()
        try await received.until { [count] in $0.count == count }
        #expect(received.value == (0..<count).map { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
        // The socket is read again.
        #expect(try socket.send([1]))
        try await received.until { $0.last == [1] }
        program.loop.perform { socket.close() }
        await until { await world.daemon.socketCount == 0 }
        await program.close()
        await central.shutDown()
    }

    // MARK: More than an attribute's 512 bytes

    /// A world with two peripherals that record what is written, one with short packets, each with its path.
    private static func recorders() async throws -> (
        world: BlueZWorld, central: Central, program: BusSession, paths: [String], received: [SharedValue<[[UInt8]]>]
    ) {
        let world = try await BlueZWorld()
        let central = try await world.makeCentral()
        let program = try await world.makeSession()
        let received = [SharedValue<[[UInt8]]>([]), SharedValue<[[UInt8]]>([])]
        var paths: [String] = []
        for (log, mtu) in zip(received, [517, 100]) {
            let uuid = BluetoothUUID(0xFFE1 + UInt32(paths.count))
            let definition = PeripheralDefinition(
                advertisement: Advertisement(localName: "Recorder"),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFFE0),
                        characteristics: [
                            CharacteristicDefinition(
                                uuid, [.write, .writeWithoutResponse],
                                onWrite: { value, _ in log.change { $0.append(value) } })
                        ])
                ], maximumATTMTU: mtu)
            let remote = try await central.find(await world.radio.add(definition).id)
            try await remote.connect()
            _ = try await remote.services()
            paths.append(
                try await program.path("org.bluez.GattCharacteristic1", ["UUID": .string(uuid.fullDescription)]))
        }
        return (world, central, program, paths, received)
    }

    @Test func `WriteValue leaves what is longer than an attribute to the peripheral, which refuses it`() async throws {
        let (world, central, program, paths, received) = try await Self.recorders()
        func write(_ count: Int, _ type: String, _ path: String) async -> String? {
            do throws(DBusError) {
                try await program.callBlueZ(
                    path, "org.bluez.GattCharacteristic1", "WriteValue",
                    .bytes([UInt8](repeating: 7, count: count)), .options(["type": .string(type)]))
                return nil
            } catch {
                return "\(error)"
            }
        }
        for (path, received) in zip(paths, received) {
            #expect(await write(512, "request", path) == nil)
            for count in [513, 600, 60_000] {
                #expect(await write(count, "request", path)?.contains("Invalid Length") == true, "\(count)")
            }
            #expect(await write(600, "command", path)?.contains("Failed to initiate write") == true)
            #expect(await write(65_536, "request", path)?.contains("Failed to initiate write") == true)
            // The daemon keeps 16 bits of the length.
            #expect(await write(65_536 + 5, "request", path) == nil)
            #expect(received.value.map(\.count) == [512, 5])
        }
        // A command that fits a packet has no answer, and the peripheral ignores it.
        #expect(await write(514, "command", paths[0]) == nil)
        #expect(await write(1, "command", paths[0]) == nil)
        try await received[0].until { $0.map(\.count) == [512, 5, 1] }
        await program.close()
        await central.shutDown()
        await world.daemon.kill()
    }

    @Test func `of a longer packet of a socket, 512 bytes are written, or none if the link's packets are shorter`()
        async throws
    {
        let (world, central, program, paths, received) = try await Self.recorders()
        for (path, (received, counts)) in zip(paths, zip(received, [[512, 512, 1], [97, 1]])) {
            let reply = try await program.callBlueZ(
                path, "org.bluez.GattCharacteristic1", "AcquireWrite", .options([:]))
            let socket = PacketSocket(try #require(reply.descriptors.first), on: program.loop)
            program.loop.perform { socket.open(onPacket: nil, onEnd: {}) }
            for count in [600, 512, 97, 1] where count != 97 || counts.contains(97) {
                #expect(try socket.send([UInt8](repeating: 7, count: count)))
            }
            try await received.until { $0.last?.count == 1 }
            #expect(received.value.map(\.count) == counts)
            program.loop.perform { socket.close() }
        }
        await program.close()
        await central.shutDown()
        await world.daemon.kill()
    }

    // MARK: Refusals

    private struct Refused {
        let path: String
        let interface: String
        let method: String
        var arguments: [DBusValue] = []
        /// The last part of the error's name, and its text.
        let error: String
        let text: String
    }

    /// What libdbus says.
    private static func unknown(_ method: String, _ signature: String, _ interface: String) -> String {
        "Method \"\(method)\" with signature \"\(signature)\" on interface \"\(interface)\" doesn't exist\n"
    }

    private static let refused = [
        Refused(
            path: "/org/bluez/hci0/dev_00", interface: "org.bluez.Device1", method: "Connect", error: "UnknownObject",
            text: unknown("Connect", "", "org.bluez.Device1")),
        Refused(
            path: "/org/bluez/hci0/dev_00", interface: properties, method: "GetAll", arguments: [.string(adapter)],
            error: "UnknownObject", text: unknown("GetAll", "s", properties)),
        Refused(
            path: "/org", interface: properties, method: "GetAll", arguments: [.string(adapter)],
            error: "UnknownMethod", text: unknown("GetAll", "s", properties)),
        Refused(
            path: "/org/bluez/hci0", interface: adapter, method: "Explode", error: "UnknownMethod",
            text: unknown("Explode", "", adapter)),
        Refused(
            path: "/org/bluez/hci0", interface: adapter, method: "StartDiscovery", arguments: [.byte(1), .strings([])],
            error: "UnknownMethod", text: unknown("StartDiscovery", "yas", adapter)),
        Refused(
            path: "/org/bluez/hci0", interface: properties, method: "Get", arguments: [.string("a.b"), .string("c")],
            error: "InvalidArgs", text: "No such interface 'a.b'"),
        Refused(
            path: "/org/bluez/hci0", interface: properties, method: "Get", arguments: [.string(adapter), .string("c")],
            error: "InvalidArgs", text: "No such property 'c'"),
        Refused(
            path: "/org/bluez/hci0", interface: properties, method: "Set",
            arguments: [.string(adapter), .string("c"), .variant(.boolean(true))], error: "UnknownProperty",
            text: "No such property 'c'"),
        Refused(
            path: "/org/bluez/hci0", interface: properties, method: "Set",
            arguments: [.string(adapter), .string("Address"), .variant(.string(""))], error: "PropertyReadOnly",
            text: "Property 'Address' is not writable"),
        Refused(
            path: "/org/bluez/hci0", interface: properties, method: "Set",
            arguments: [.string(adapter), .string("Powered"), .variant(.string(""))], error: "InvalidSignature",
            text: "Invalid signature for 'Powered'"),
    ]

    @Test func `what there is not is refused in the words of bluetoothd`() async throws {
        let world = try await BlueZWorld()
        let program = try await world.makeSession()
        func check(_ item: Refused) async {
            let error = await #expect(throws: DBusError.self) {
                try await program.call(
                    MethodCall("org.bluez", item.path, item.interface, item.method, item.arguments),
                    timeout: HangLimit.step)
            }
            #expect(error?.name == "org.freedesktop.DBus.Error.\(item.error)", "\(item.method)")
            #expect(error?.message == item.text)
        }
        for item in Self.refused { await check(item) }
        await world.daemon.setPresent(false)
        await check(
            Refused(
                path: "/org/bluez/hci0", interface: Self.adapter, method: "StartDiscovery", error: "UnknownObject",
                text: Self.unknown("StartDiscovery", "", Self.adapter)))
        await world.daemon.setPresent(true)
        try await program.callBlueZ("/org/bluez/hci0", Self.adapter, "StartDiscovery")
        await program.close()
        await world.daemon.kill()
    }

    @Test func `an error that D-Bus does not allow cannot be the answer of a method`() async throws {
        let world = try await BlueZWorld()
        let program = try await world.makeSession()
        let longest = "a." + String(repeating: "b", count: 253)
        for (method, name, message, count) in [
            ("StartDiscovery", longest + "b", "no", 1), ("StartDiscovery", "name", "no", 1),
            ("StartDiscovery", "a.b-c", "no", 1), ("StartDiscovery", "a.b", "n\0o", 1),
            ("StartDiscovery", "a.b", "no", -1), ("Explode", "a.b", "no", 1),
        ] {
            await expectError(.invalidArgument) {
                try await world.daemon.refuse(method, with: name, message, count: count)
            }
        }
        try await world.daemon.refuse("StartDiscovery", with: longest, "no", count: 2)
        try await world.daemon.refuse("StartDiscovery", with: "a.b", "no", count: 0)
        for _ in 0..<2 {
            let error = await #expect(throws: DBusError.self) {
                try await program.callBlueZ("/org/bluez/hci0", Self.adapter, "StartDiscovery")
            }
            #expect(error?.name == longest)
        }
        try await program.callBlueZ("/org/bluez/hci0", Self.adapter, "StartDiscovery")
        await program.close()
        await world.daemon.kill()
    }

    @Test func `a client that is denied hears what dbus-daemon says, until it is allowed`() async throws {
        func refusal(
            of program: BusSession, _ interface: String = Self.manager, _ method: String = "GetManagedObjects"
        ) async -> DBusError? {
            await #expect(throws: DBusError.self) { try await program.callBlueZ("/", interface, method) }
        }
        // What differs: the bus name, and the rules of the policy.
        func form(_ error: DBusError?) -> String {
            error?.message.replacing(/sender=":[0-9.]+"/, with: "sender").replacing(/[0-9]+ matched/, with: "matched")
                ?? ""
        }
        let denying = try await BlueZWorld(policy: PrivateBus.policy(denying: #"send_destination="org.bluez""#))
        let stranger = try await denying.makeSession()
        let expected = await refusal(of: stranger)
        #expect(expected?.name == "org.freedesktop.DBus.Error.AccessDenied")
        await stranger.close()
        await denying.daemon.kill()

        let world = try await BlueZWorld()
        let (one, two) = (try await world.makeSession(), try await world.makeSession())
        try await world.daemon.deny()
        for program in [one, two] {
            let error = await refusal(of: program)
            #expect(error?.name == expected?.name)
            #expect(form(error) == form(expected))
        }
        #expect(await refusal(of: one, "org.freedesktop.DBus.Peer", "Ping")?.name == expected?.name)
        #expect(await refusal(of: one, "org.freedesktop.DBus.Introspectable", "Introspect")?.name == expected?.name)
        #expect(await world.daemon.calls["GetManagedObjects"] == nil)
        try await world.daemon.allow()
        try await one.callBlueZ("/", Self.manager, "GetManagedObjects")

        let name = try #require(await one.uniqueName)
        try await world.daemon.deny(name)
        #expect(await refusal(of: one)?.name == expected?.name)
        try await two.callBlueZ("/", Self.manager, "GetManagedObjects")
        try await world.daemon.allow(name)
        try await one.callBlueZ("/", Self.manager, "GetManagedObjects")
        await expectError(.invalidArgument) { try await world.daemon.deny(":1.999999") }
        await one.close()
        await two.close()
        await world.daemon.kill()
    }
}
