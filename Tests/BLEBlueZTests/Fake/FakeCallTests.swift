import BLE
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
}
