import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import DBus
import Logging
import Loop
import Testing
import Waiting

@testable import BLEBlueZ

/// Changes of scans whose advertisements come from the kernel's management socket, and their ends.
@Suite(.startsProcesses, .hangLimit)
struct ManagementChangeTests {
    private let world: BlueZWorld
    private let battery: SimulatedPeripheral
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
    }

    private func makeCentral(
        _ stack: BlueZStack? = nil, _ socket: ManagementSocket? = nil
    ) async throws -> (central: Central, backend: BlueZCentral) {
        let backend = BlueZCentral(stack ?? world.makeStack(), socket ?? daemon.managementSocket)
        return (try await Central(backend: backend, configuration: .quiet()), backend)
    }

    private func events(
        _ central: Central, _ criteria: DiscoveryCriteria = .any
    ) -> DiscoveryEvents.AsyncIterator {
        central.discoveryEvents(
            matching: .id(battery.id) && criteria, duplicates: true, staleAfter: nil
        ).makeAsyncIterator()
    }

    /// Changes the strength with which the peripheral is received, and waits until it is reported.
    private func hear(_ strength: Int, _ events: inout DiscoveryEvents.AsyncIterator) async throws -> Advertisement {
        var advertisement = PeripheralDefinition.battery().advertisement
        advertisement.rssi = strength
        await battery.setAdvertisement(advertisement)
        while true {
            let heard = try await events.advertisement()
            if heard.rssi == strength { return heard }
        }
    }

    // MARK: Two centrals

    @Test func `after a central that is released without a shutdown, one without the socket hears all`() async throws {
        let stack = world.makeStack()
        let host = try await stack.join(
            BlueZStack.Role(kind: .peripheral, logger: Logger(label: "test"), clock: ContinuousClock()) { _ in })
        func scan() async throws {
            let (central, _) = try await makeCentral(stack)
            var events = self.events(central)
            while try await events.advertisement().structures.isEmpty {}
            #expect(await stack.packetAdapter != nil)
        }
        try await scan()
        await until { await !stack.isShared && daemon.managementSocketCount == 0 }
        await until { await !daemon.isKernelDiscovering }
        #expect(await stack.packetAdapter == nil)
        let central = try await Central(backend: BlueZCentral(stack), configuration: .quiet())
        var others = self.events(central)
        _ = try await others.advertisement()
        // Changes of 1 dB, which bluetoothd reports only if it is asked for more than of a central with a socket.
        for strength in [-51, -52, -51] { _ = try await hear(strength, &others) }
        await central.shutDown()
        // The other way around.
        let (last, _) = try await makeCentral(stack)
        var lastEvents = self.events(last)
        for strength in [-53, -54] { _ = try await hear(strength, &lastEvents) }
        #expect(try await !hear(-55, &lastEvents).structures.isEmpty)
        await last.shutDown()
        #expect(await stack.packetAdapter == nil)
        await stack.leave(host)
    }

    @Test func `two centrals with sockets on two adapters hear what their own adapter hears`() async throws {
        await daemon.addAdapter("hci1")
        let (first, _) = try await makeCentral(BlueZStack(adapter: "hci0", address: world.address))
        let (second, _) = try await makeCentral(BlueZStack(adapter: "hci1", address: world.address))
        var (firsts, seconds) = (events(first), events(second))
        while try await firsts.advertisement().structures.isEmpty {}
        while try await seconds.advertisement().structures.isEmpty {}
        #expect(try await !hear(-41, &firsts).structures.isEmpty)
        #expect(try await !hear(-42, &seconds).structures.isEmpty)
        #expect(try await !hear(-43, &firsts).structures.isEmpty)
        #expect(daemon.managementSocketCount == 2)
        await first.shutDown()
        #expect(try await !hear(-44, &seconds).structures.isEmpty)
        await second.shutDown()
        await until { daemon.managementSocketCount == 0 }
    }

    @Test func `a role that leaves takes the strengths that only the kernel has reported along`() async throws {
        let stack = world.makeStack()
        func role(_ kind: BlueZStack.Role.Kind) -> BlueZStack.Role {
            BlueZStack.Role(kind: kind, logger: Logger(label: "test"), clock: ContinuousClock()) { _ in }
        }
        let host = try await stack.join(role(.peripheral))
        let central = try await Central(backend: BlueZCentral(stack), configuration: .quiet())
        _ = try await central.first(matching: .id(battery.id))
        await central.shutDown()
        // bluetoothd knows the peripheral, and reports no strength.
        let path = try #require(await stack.path(of: battery.id))
        await until { await stack.tree.devices[path]?.isHeard == false }
        let leaving = try await stack.join(role(.central))
        await stack.setPacketAdapter(0, of: leaving)
        guard case .advertisement(let received) = ManagementPacket(ManagementPacketTests.found(battery.id.octets))
        else {
            throw BLEError(.failed, "the packet is malformed")
        }
        #expect(await stack.receive(received).heard?.advertisement.rssi == -60)
        await stack.leave(leaving)
        #expect(await stack.tree.devices[path]?.advertisement.rssi == nil)
        await stack.leave(host)
    }

    // MARK: Changes of the scan

    /// Whether the adapter scans for any program.
    private func isScanning() async -> Bool {
        let (session, kernel) = (await daemon.isDiscovering, await daemon.isKernelDiscovering)
        return session || kernel
    }

    @Test(arguments: [false, true])
    func `a shutdown during a change of the filter that hangs ends the scan`(hasSocket: Bool) async throws {
        let stack = world.makeStack()
        let host = try await stack.join(
            BlueZStack.Role(kind: .peripheral, logger: Logger(label: "test"), clock: ContinuousClock()) { _ in })
        let backend = BlueZCentral(stack, hasSocket ? daemon.managementSocket : nil)
        let clock = ManualClock()
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        try await backend.startDiscovery(DiscoveryFilter())
        #expect(await isScanning())
        await daemon.hang("SetDiscoveryFilter")
        let change = Task { try await backend.startDiscovery(DiscoveryFilter(transport: .any)) }
        await daemon.untilHung()
        let shutdown = Task { await central.shutDown() }
        // Gives up the wait for the change after 5 s.
        await clock.sleepers(1, for: BlueZCentral.leaving)
        clock.advance(by: BlueZCentral.leaving)
        await shutdown.value
        await daemon.release()
        await #expect(throws: BLEError.self) { try await change.value }
        await until { await !isScanning() }
        await stack.leave(host)
    }

    @Test func `a socket that ends while a scan without it begins is not reported`() async throws {
        let (central, backend) = try await makeCentral()
        var events = events(central)
        _ = try await events.advertisement()
        await daemon.hang("SetDiscoveryFilter")
        let change = Task { try await backend.startDiscovery(DiscoveryFilter(transport: .any)) }
        await daemon.untilHung()
        daemon.endManagement()
        await until { await !backend.isQuiet }
        await daemon.release()
        try await change.value
        for strength in [-51, -52, -53] { _ = try await hear(strength, &events) }
        #expect(await daemon.isDiscovering)
        await central.shutDown()
    }

    @Test func `a socket that ends while a scan without it does not begin ends the scan`() async throws {
        let (central, backend) = try await makeCentral()
        var events = events(central)
        _ = try await events.advertisement()
        try await daemon.refuse("SetDiscoveryFilter", with: "org.bluez.Error.Failed", "")
        await daemon.hang("SetDiscoveryFilter")
        let change = Task { try await backend.startDiscovery(DiscoveryFilter(transport: .any)) }
        await daemon.untilHung()
        daemon.endManagement()
        await until { await !backend.isQuiet }
        await daemon.release()
        await #expect(throws: BLEError.self) { try await change.value }
        await #expect(throws: BLEError.self) { while try await events.next() != nil {} }
        await central.shutDown()
    }

    @Test func `from LE to any transport, to passive and back, the peripheral is heard`() async throws {
        await daemon.offerMonitors()
        let (central, _) = try await makeCentral()
        for round in 0..<2 {
            var le = events(central)
            for strength in [-50, -51, -52] { _ = try await hear(strength - round * 10, &le) }
            #expect(daemon.managementSocketCount == 1)
            var any = events(central, .transport(.any))
            for strength in [-53, -54, -55] { _ = try await hear(strength - round * 10, &any) }
            await until { daemon.managementSocketCount == 0 }
        }
        for round in 0..<2 {
            var passive = events(central, .passive)
            // bluetoothd shows changes of 8 dB.
            for strength in [-30, -40, -50] { _ = try await hear(strength - round, &passive) }
            await until { daemon.managementSocketCount == 0 }
            var le = events(central)
            for strength in [-73, -74] { _ = try await hear(strength - round * 10, &le) }
            #expect(try await !hear(-75 - round * 10, &le).structures.isEmpty)
            #expect(daemon.managementSocketCount == 1)
        }
        await central.shutDown()
        await until { await !isScanning() }
        #expect(await daemon.foreignStops == 0)
    }

    @Test func `after a change of the transport that fails, the scan goes on as before`() async throws {
        let (central, backend) = try await makeCentral()
        var events = events(central)
        while try await events.advertisement().structures.isEmpty {}
        try await daemon.refuse("SetDiscoveryFilter", with: "org.bluez.Error.Failed", "")
        await #expect(throws: BLEError.self) { try await backend.startDiscovery(DiscoveryFilter(transport: .any)) }
        #expect(daemon.managementSocketCount == 1)
        for strength in [-51, -52, -53] { #expect(try await !hear(strength, &events).structures.isEmpty) }
        await central.shutDown()
    }

    @Test func `two starts at once both wait for the kernel`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, backend) = try await makeCentral(nil, kernel.socket)
        let first = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { kernel.socketCount == 1 }
        let second = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { await backend.scan.changeCount == 2 }
        kernel.answer(0x14)
        await expectError(.unauthorized) { try await first.value }
        await until { kernel.socketCount == 2 }
        kernel.answer(0x14)
        await expectError(.unauthorized) { try await second.value }
        #expect(await daemon.calls["StartDiscovery"] == nil)
        await central.shutDown()
    }

    @Test func `a start that waits for another one can be given up`() async throws {
        let kernel = ScriptedKernel(answers: false)
        let (central, backend) = try await makeCentral(nil, kernel.socket)
        let first = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { kernel.socketCount == 1 }
        let second = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await until { await backend.scan.changeCount == 2 }
        second.cancel()
        await expectError(.cancelled) { try await second.value }
        kernel.answer(0)
        try await first.value
        await central.shutDown()
    }

    // MARK: Other adapters

    @Test func `an adapter that replaces another one has a socket for its own advertisements`() async throws {
        let (central, _) = try await makeCentral()
        var events = events(central)
        while try await events.advertisement().structures.isEmpty {}
        await daemon.addAdapter("hci1")
        await daemon.setPresent(false)
        #expect(try await !hear(-51, &events).structures.isEmpty)
        #expect(try await !hear(-52, &events).structures.isEmpty)
        await until { daemon.managementSocketCount == 1 }
        await central.shutDown()
    }

    // MARK: What the kernel filters

    @Test func `advertisements of other adapters and of Classic devices do not reach the program`() async throws {
        let kernel = ScriptedKernel()
        let (central, _) = try await makeCentral(nil, kernel.socket)
        let found = events(central)
        let last = Task {
            var events = found
            return try await events.advertisement()
        }
        await until { kernel.commands.count == 1 }
        // Many more than the socket holds.
        var refused = 0
        for _ in 0..<50_000 where !kernel.send(ManagementPacketTests.found(adapter: 1)) { refused += 1 }
        for _ in 0..<50_000 where !kernel.send(ManagementPacketTests.found(type: 0)) { refused += 1 }
        #expect(refused == 0)
        kernel.send(ManagementPacketTests.found(battery.id.octets, rssi: -33))
        #expect(try await last.value.rssi == -33)
        await central.shutDown()
    }

    @Test func `the fake's kernel refuses what the kernel refuses`() async throws {
        let loop = EventLoop(name: "test")
        let socket = PacketSocket(try daemon.managementSocket.open().get(), on: loop)
        let (packets, continuation) = AsyncStream<[UInt8]>.makeStream()
        await onLoop(loop) {
            socket.open { packet in
                continuation.yield(packet)
                return true
            } onEnd: {
            }
        }
        // Without the advertisements in between.
        var answers = packets.filter { $0.first != 0x12 }.makeAsyncIterator()
        let start = ManagementCommand.startServiceDiscovery.packet(adapter: 0)
        let stop = ManagementCommand.stopDiscovery.packet(adapter: 0)
        // A length that is wrong is not answered.
        #expect(try socket.send([0x15, 0, 0xFF, 0xFF, 1, 0]))
        #expect(try socket.send([0x16, 0, 0xFF, 0xFF, 0, 0]))
        #expect(await answers.next() == [2, 0, 0xFF, 0xFF, 3, 0, 0x16, 0, 0x01])
        #expect(try socket.send(ManagementCommand.startServiceDiscovery.packet(adapter: 9)))
        #expect(await answers.next() == [2, 0, 9, 0, 3, 0, 0x3A, 0, 0x11])
        #expect(try socket.send(stop))
        #expect(await answers.next() == [1, 0, 0, 0, 4, 0, 0x24, 0, 0x0B, 6])
        // A start is told to all, and a second one is refused.
        #expect(try socket.send(start))
        #expect(await answers.next() == [0x13, 0, 0, 0, 2, 0, 6, 1])
        #expect(await answers.next() == [1, 0, 0, 0, 4, 0, 0x3A, 0, 0, 6])
        #expect(try socket.send(start))
        #expect(await answers.next() == [1, 0, 0, 0, 4, 0, 0x3A, 0, 0x0A, 6])
        #expect(try socket.send(stop))
        #expect(await answers.next() == [0x13, 0, 0, 0, 2, 0, 6, 0])
        #expect(await answers.next() == [1, 0, 0, 0, 4, 0, 0x24, 0, 0, 6])
        daemon.forbidManagement()
        #expect(try socket.send(start))
        #expect(await answers.next() == [2, 0, 0, 0, 3, 0, 0x3A, 0, 0x14])
        await onLoop(loop) { socket.close() }
    }

    private func onLoop(_ loop: EventLoop, _ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            loop.perform {
                work()
                continuation.resume()
            }
        }
    }
}
