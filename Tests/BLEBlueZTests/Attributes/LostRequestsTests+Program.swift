import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

@testable import BLEBlueZ

/// What is lost on the program's connection to the bus.
extension LostRequestsTests {
    @Test func `with too many lost requests, the program's connection is used only to end what there is`() async throws
    {
        let world = try await World(over: .existing)
        let second = await world.bluetooth.radio.add(Self.safe)
        let third = await world.bluetooth.radio.add(Self.safe)
        let other = try await world.central.find(second.id)
        try await other.connect()
        try await world.central.find(third.id).connect()
        await world.loseRequests(32)
        // Without a link, and with one.
        for peripheral in [world.safe, other] {
            let error = await expectError(.failed) { try await peripheral.read(Self.plain) }
            #expect(error?.isRetryable == false)
            #expect(error?.remedy != nil)
        }
        try await other.disconnect()
        #expect(await !second.isConnected)
        #expect(await third.isConnected)
        await world.end()
        #expect(await !third.isConnected)
    }

    @Test func `the program's connection can be used again with another bluetoothd`() async throws {
        let world = try await World(over: .existing)
        await world.loseRequests(32)
        await expectError(.failed) { try await world.safe.read(Self.plain) }
        var states = await world.central.adapterStates().makeAsyncIterator()
        await world.daemon.kill()
        try await world.daemon.start()
        while try await states.next() != .resetting {}
        while try await states.next() != .poweredOn {}
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.end()
    }

    @Test func `lost requests count for later centrals of the connection, until bluetoothd has stopped`() async throws {
        let world = try await World(over: .existing)
        // A link that ends while it is made loses no request.
        while await world.daemon.hungCount < 31 { _ = await world.refuse { try await $0.read(Self.secret) } }
        await world.central.shutDown()
        func next() async throws -> (Central, Peripheral) {
            let central = try await Central(
                backend: BlueZCentral(world.stack), configuration: .quiet(pairing: .prompting(world.user)))
            return (central, try await central.find(world.peripheral.id))
        }
        let (second, again) = try await next()
        while await world.daemon.hungCount < 32 { _ = await world.refuse(again) { try await $0.read(Self.secret) } }
        await expectError(.failed) { try await again.read(Self.plain) }
        await second.shutDown()
        // Nobody hears of this.
        await world.daemon.kill()
        try await world.daemon.start()
        let (third, safe) = try await next()
        #expect(try await safe.read(Self.plain) == [1])
        await third.shutDown()
        await world.daemon.release()
    }

    @Test func `requests that are answered late do not use up the program's connection`() async throws {
        let world = try await World(over: .existing)
        try await world.safe.setTrusted(true)
        for _ in 1...33 {
            let read = await world.hangingRead()
            await world.peripheral.disconnect()
            await expectError(.disconnected) { try await read.value }
            await expectError(.failed) { _ = try await world.safe.read(Self.plain) }
            await world.daemon.release()
            await until { (try? await world.safe.read(Self.plain)) == [1] }
        }
        await world.end()
    }

    @Test func `calls that were answered meanwhile are not counted as lost`() async throws {
        let world = try await World(over: .existing)
        let read = await world.hangingRead()
        let calls = await world.stack.unansweredRequests(world.safe.id)
        #expect(calls.count == 1)
        await world.daemon.release()
        #expect(try await read.value == [1])
        await world.stack.lose(calls, .cancelled)
        #expect(await world.stack.lostCount == 0)
        await world.end()
    }

    @Test func `a disconnect ends with the device`() async throws {
        let world = try await World()
        try await world.safe.connect()
        await world.daemon.hang("Disconnect")
        let disconnecting = Task { try await world.safe.disconnect() }
        await world.daemon.untilHung()
        await world.daemon.remove(world.peripheral.id)
        try await disconnecting.value
        await world.daemon.stopHanging()
        await world.end()
    }

    @Test func `a shutdown takes the agent off the program's connection, even if a link does not end`() async throws {
        let world = try await World(over: .existing)
        try await world.safe.connect()
        #expect(await world.daemon.agentOwners.count == 1)
        await world.daemon.hang("Disconnect")
        await world.central.shutDown()
        await until { await world.daemon.agentOwners.isEmpty }
        await world.daemon.release()
    }
}

extension BlueZStack {
    fileprivate func unansweredRequests(_ peripheral: Peripheral.ID) -> [PendingCall] {
        path(of: peripheral).map { unansweredRequests(ofDevice: $0) } ?? []
    }

    fileprivate var lostCount: Int { lostEarlier + (session?.enter { $0.lostCount } ?? 0) }
}
