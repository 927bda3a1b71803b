import BLE
import BLESimulation
import BLETestSupport
import Foundation
import Synchronization
import Waiting
import Testing

/// The central's side of L2CAP channels. The contract covers the common behavior of all stacks.
@Suite(.hangLimit) struct L2CAPChannelTests {
    private static let psm: PSM = 0x0080

    private func definition(_ onOpen: @escaping ChannelDefinition.Handler) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Logger"), services: [],
            channels: [ChannelDefinition(Self.psm, onOpen: onOpen)])
    }

    @Test func `a number is published as 16 bits, and printed in hexadecimal`() throws {
        #expect(PSM(rawValue: 0x80).description == "0x0080")
        #expect(PSM(rawValue: 0xABCD).description == "0xABCD")
        let bytes = try Characteristic<PSM>.publishedPSM.coding.encode(0x0081)
        #expect(bytes == [0x81, 0x00])
        let read = try Characteristic<PSM>.publishedPSM.coding.decode([0x25, 0x01])
        #expect(read == 0x0125)
        let json = try JSONEncoder().encode([PSM(rawValue: 0x80)])
        #expect(String(decoding: json, as: UTF8.self) == "[128]")
        #expect(try JSONDecoder().decode([PSM].self, from: json) == [0x0080])
    }

    @Test func `a channel closes with its last reference, and its packets keep it`() async throws {
        let world = try await SimulatedWorld()
        let ended = SharedValue(0)
        let (peripheral, _) = try await world.add(
            definition { channel in
                try await channel.send([1])
                for try await _ in channel.packets {}
                ended.change { $0 += 1 }
            })
        _ = try await peripheral.openChannel(Self.psm)
        await until { ended.value == 1 }
        var packets: L2CAPChannel.Packets? = try await peripheral.openChannel(Self.psm).packets
        var first: [UInt8]?
        if let packets {
            for try await packet in packets {
                first = packet
                break
            }
        }
        #expect(first == [1])
        #expect(ended.value == 1)
        packets = nil
        await until { ended.value == 2 }
        await world.central.shutDown()
    }

    @Test func `an open channel and an open writer keep an on-demand link`() async throws {
        let world = try await SimulatedWorld()
        var logger = definition { channel in for try await _ in channel.packets {} }
        let key = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
        logger.services = [
            ServiceDefinition(
                BluetoothUUID(0xFFE0), characteristics: [CharacteristicDefinition(key.uuid, .writeWithoutResponse)])
        ]
        let (peripheral, grip) = try await world.add(logger)
        try await peripheral.setConnectionPolicy(.onDemand(idle: .seconds(5)))
        let channel = try await peripheral.openChannel(Self.psm)
        world.clock.advance(by: .seconds(60))
        await Task.yield()
        #expect(await grip.isConnected)
        channel.close()
        await untilIdle(world, grip)
        let writer = try await peripheral.packetWriter(to: key)
        world.clock.advance(by: .seconds(60))
        await Task.yield()
        #expect(await grip.isConnected)
        writer.close()
        await untilIdle(world, grip)
        await world.central.shutDown()
    }

    /// Lets the idle time pass, once it has begun.
    private func untilIdle(_ world: SimulatedWorld, _ grip: SimulatedPeripheral) async {
        await until {
            world.clock.advance(by: .seconds(1))
            return await !grip.isConnected
        }
    }

    @Test func `waiting for a packet ends at its deadline, and loses nothing`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            definition { channel in for try await packet in channel.packets { try await channel.send(packet) } })
        let channel = try await peripheral.openChannel(Self.psm)
        let late = Task { try await channel.receive(timeout: .seconds(3)) }
        await world.clock.sleepers(1, for: .seconds(3))
        world.clock.advance(by: .seconds(3))
        let error = await expectError(.timedOut) { try await late.value }
        #expect(error?.peripheral == peripheral.id)
        try await channel.send([1])
        #expect(try await channel.receive(timeout: .seconds(3)) == [1])
        let cancelled = Task { try await channel.receive(timeout: .seconds(3)) }
        await world.clock.sleepers(1, for: .seconds(3))
        cancelled.cancel()
        await expectError(.cancelled) { try await cancelled.value }
        channel.close()
        #expect(try await channel.receive(timeout: .seconds(3)) == nil)
        // No timer runs any more.
        await until { world.clock.sleeperCount == 0 }
        await world.central.shutDown()
    }

    @Test func `packets that have arrived are read before the loss of the link`() async throws {
        let world = try await SimulatedWorld()
        let sent = SharedValue(false)
        let (peripheral, grip) = try await world.add(
            definition { channel in
                for number in UInt8(0)..<100 { try await channel.send([number]) }
                sent.change { $0 = true }
                for try await _ in channel.packets {}
            })
        let channel = try await peripheral.openChannel(Self.psm)
        await until { sent.value }
        await grip.dropLink()
        var numbers: [UInt8] = []
        let error = await expectError(.disconnected) { for try await packet in channel.packets { numbers += packet } }
        #expect(error?.disconnectReason == .timeout)
        #expect(numbers == Array(0..<100))
        await world.central.shutDown()
    }

    @Test func `a sender waits while many packets wait on the other side`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            definition { channel in
                _ = try? await Outcome<Void>().wait()
                channel.close()
            })
        let channel = try await peripheral.openChannel(Self.psm)
        let count = SharedValue(0)
        let sending = Task {
            while true {
                try await channel.send([1])
                count.change { $0 += 1 }
            }
        }
        // The stream's buffer, and as many packets again.
        await until { count.value == 128 }
        for _ in 0..<100 { await Task.yield() }
        #expect(count.value == 128)
        sending.cancel()
        await expectError(.cancelled) { try await sending.value }
        await world.central.shutDown()
    }

    @Test func `a reader that catches up lets the transport go on`() async throws {
        let bench = try await Bench()
        let channel = try await bench.strap.openChannel(Self.psm)
        let transport = bench.backend.channel
        var room = true
        for number in UInt8(0)..<64 { room = transport.receive([number]) }
        #expect(!room)
        #expect(transport.resumeCount == 0)
        var packets = channel.packets.makeAsyncIterator()
        let first = try await packets.next()
        #expect(first == [0])
        #expect(transport.resumeCount == 0)
        for number in UInt8(1)..<32 {
            let packet = try await packets.next()
            #expect(packet == [number])
        }
        #expect(transport.resumeCount == 1)
        // The other side's end is reported after all of them.
        transport.end()
        #expect(transport.isClosed)
        #expect(channel.isClosed)
        // A reader that stops leaves the others to the next.
        for try await packet in channel.packets {
            #expect(packet == [32])
            break
        }
        var count = 33
        while try await packets.next() != nil { count += 1 }
        #expect(count == 64)
        await bench.central.shutDown()
    }

    @Test func `a packet has one deadline, however often there seems to be room`() async throws {
        let bench = try await Bench()
        let channel = try await bench.strap.openChannel(Self.psm)
        let transport = bench.backend.channel
        transport.setRoom(0)
        let sending = Task { try await channel.send([1], timeout: .seconds(5)) }
        for _ in 0..<4 {
            await until { transport.waiterCount == 1 }
            bench.clock.advance(by: .seconds(1))
            transport.setRoom(0)
        }
        await until { transport.waiterCount == 1 }
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await sending.value }
        transport.setRoom(1)
        try await channel.send([2])
        #expect(transport.packets == [[2]])
        await bench.central.shutDown()
    }

    @Test func `a channel that is opened too late is closed`() async throws {
        let bench = try await Bench()
        try await bench.strap.connect()
        await bench.backend.script(.openChannel, .ignore)
        let opening = Task { try await bench.strap.openChannel(Self.psm, timeout: .seconds(5)) }
        await until { await bench.backend.calls.contains(.openChannel(Self.psm)) }
        await bench.clock.sleepers(for: .seconds(5))
        bench.clock.advance(by: .seconds(5))
        await expectError(.timedOut) { _ = try await opening.value }
        #expect(!bench.backend.channel.isClosed)
        await bench.backend.release(.openChannel)
        await until { bench.backend.channel.isClosed }
        await bench.central.shutDown()
    }

    @Test func `the channels of a central that is released end`() async throws {
        let backend = ScriptedBackend()
        var central: Central? = try await Central(backend: backend, configuration: .quiet())
        let channel = try await central?.peripheral("C0:00:00:00:00:01").openChannel(Self.psm)
        central = nil
        await expectError(.shutDown) { for try await _ in try #require(channel).packets {} }
    }
}
