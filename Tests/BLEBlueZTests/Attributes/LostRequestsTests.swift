import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Synchronization
import Testing

@testable import BLEBlueZ

/// What bluetoothd never answers, and what it keeps of that.
@Suite(.startsProcesses, .hangLimit)
struct LostRequestsTests {
    /// A user who refuses to pair, until told otherwise.
    final class User: PairingDelegate {
        private let state = Mutex((accepts: false, promptCount: 0))

        var promptCount: Int { state.withLock { $0.promptCount } }

        func accept() { state.withLock { $0.accepts = true } }

        func authorizePairing(with peripheral: Peripheral) async -> Bool {
            state.withLock { state in
                state.promptCount += 1
                return state.accepts
            }
        }
    }

    static let plain = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
    static let secret = Characteristic<[UInt8]>(BluetoothUUID(0xFF02))

    static let safe = PeripheralDefinition(
        advertisement: Advertisement(localName: "Safe", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(plain.key.characteristic, [.read, .notify], value: [1]),
                    CharacteristicDefinition(
                        secret.key.characteristic, [.read, .write, .notify], security: .encrypted, value: [2]),
                ])
        ])

    /// A central on a bluetoothd that loses requests, and a safe with attributes for which it must be paired with.
    struct World {
        let bluetooth: BlueZWorld
        let user = User()
        let peripheral: SimulatedPeripheral
        let stack: BlueZStack
        let backend: BlueZCentral
        let central: Central
        let safe: Peripheral
        var daemon: FakeBlueZ { bluetooth.daemon }

        init(over carrier: TestCarrier = .socket, minorVersion: Int = 82) async throws {
            bluetooth = try await BlueZWorld(over: carrier, minorVersion: minorVersion)
            peripheral = await bluetooth.radio.add(LostRequestsTests.safe)
            stack = bluetooth.makeStack()
            backend = BlueZCentral(stack)
            central = try await Central(backend: backend, configuration: .quiet(pairing: .prompting(user)))
            safe = try await central.find(peripheral.id)
        }

        /// Begins a read that the daemon does not answer, though it answers later ones.
        func hangingRead(_ count: Int = 1) async -> Task<[UInt8], any Error> {
            await daemon.hang("ReadValue")
            let read = Task { try await safe.read(LostRequestsTests.plain) }
            await until { await daemon.hungCount == count }
            await daemon.stopHanging()
            return read
        }

        /// Does what starts a pairing, which is refused, and waits for the end of the link.
        func refuse(
            _ peripheral: Peripheral? = nil, _ operation: (Peripheral) async throws -> some Any
        ) async -> BLEError.Code? {
            let peripheral = peripheral ?? safe
            var code: BLEError.Code?
            do { _ = try await operation(peripheral) } catch { code = (error as? BLEError)?.code }
            await untilDisconnected(peripheral)
            // The end of the link may be reported before the refusal.
            let expected: [BLEError.Code?] = [.pairingRequired, .disconnected, .bluetoothLost]
            #expect(expected.contains(code))
            return code
        }

        /// Has that many requests be lost. A link that ends while it is made loses none.
        func loseRequests(_ count: Int) async {
            var attempts = 0
            while await daemon.hungCount < count, attempts < 2 * count {
                attempts += 1
                _ = await refuse { try await $0.read(LostRequestsTests.secret) }
            }
        }

        func untilDisconnected(_ peripheral: Peripheral) async {
            await until { await peripheral.connectionState == .disconnected }
        }

        func end() async {
            await central.shutDown()
            await daemon.release()
        }
    }

    // MARK: Notifications

    @Test func `lost starts of notifications take no places, and are not repeated on the next link`() async throws {
        let world = try await World()
        // As often as one device may have unanswered calls.
        for count in 1...16 {
            _ = await world.refuse { try await $0.notifications(Self.secret) }
            #expect(try await world.safe.read(Self.plain) == [1])
            // The read has made a link, on which the daemon would have started the notifications again.
            #expect(world.user.promptCount == count)
            #expect(await world.daemon.calls["StopNotify", default: 0] >= count)
            try await world.safe.disconnect()
        }
        // Nothing but the notifications was lost.
        #expect(await world.daemon.calls["RemoveDevice"] == nil)
        world.user.accept()
        _ = try await world.safe.notifications(Self.secret)
        await world.end()
    }

    @Test func `a socket whose acquisition was lost can be acquired on the next link`() async throws {
        let world = try await World()
        _ = await world.refuse { try await $0.notifications(Self.secret, delivery: .socket) }
        world.user.accept()
        let values = try await world.safe.notifications(Self.secret, delivery: .socket)
        #expect(await world.daemon.socketCount == 1)
        #expect(await world.daemon.calls["AcquireNotify"] == 2)
        #expect(await world.daemon.calls["RemoveDevice"] == nil)
        await world.end()
        _ = values
    }

    // MARK: Reads and writes

    @Test func `a device that could not be forgotten is forgotten before a later connect`() async throws {
        let world = try await World()
        await world.daemon.fail("RemoveDevice", .bluez("NotReady", "Resource Not Ready"))
        _ = await world.refuse { try await $0.read(Self.secret) }
        await expectError(.failed) { _ = try await world.safe.read(Self.secret) }
        try await world.safe.disconnect()
        world.user.accept()
        #expect(try await world.safe.read(Self.secret) == [2])
        #expect(await world.daemon.calls["RemoveDevice"] == 2)
        await world.end()
    }

    @Test func `a device with lost requests is forgotten at the shutdown`() async throws {
        let world = try await World()
        _ = await world.refuse { try await $0.read(Self.secret) }
        #expect(await world.daemon.calls["RemoveDevice"] == nil)
        await world.central.shutDown()
        #expect(await world.daemon.calls["RemoveDevice"] == 1)
        await world.daemon.release()
    }

    @Test func `a device with notifications of another program is not forgotten`() async throws {
        let world = try await World()
        try await world.safe.connect()
        _ = try await world.safe.services()
        await world.daemon.startNotifications(of: Self.plain.key.characteristic)
        _ = await world.refuse { try await $0.read(Self.secret) }
        // This program has left the link to the other one. It ends soon after.
        await until { await !world.peripheral.isConnected }
        await expectError(.failed) { _ = try await world.safe.read(Self.secret) }
        #expect(await world.daemon.calls["RemoveDevice"] == nil)
        await world.end()
    }

    @Test func `the end of a stalled link does not affect the next one`() async throws {
        let world = try await World(minorVersion: 66)
        let values = try await world.safe.notifications(Self.plain)
        // The link ends by itself before this program has ended it.
        await world.daemon.hang("StopNotify")
        await expectError(.pairingRequired) { try await world.safe.read(Self.secret) }
        await world.daemon.untilHung()
        await world.peripheral.disconnect()
        await world.untilDisconnected(world.safe)
        await world.daemon.stopHanging()
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.daemon.release()
        for _ in 1...20 { #expect(try await world.safe.read(Self.plain) == [1]) }
        #expect(await world.safe.connectionState == .connected)
        #expect(await world.daemon.calls["Disconnect"] == nil)
        await world.end()
        _ = values
    }

    @Test func `what is left of a disconnect does not take the next link from this program`() async throws {
        let world = try await World(minorVersion: 66)
        try await world.safe.connect()
        await world.daemon.hang("after Disconnect")
        let ending = Task { try await world.backend.disconnect(world.safe.id) }
        await world.daemon.untilHung()
        await world.untilDisconnected(world.safe)
        await world.daemon.stopHanging()
        // The next link takes its time.
        await world.peripheral.setAdvertising(false)
        let reading = Task { try await world.safe.read(Self.plain) }
        await until { await world.daemon.calls["Connect"] == 2 }
        await world.daemon.release()
        try await ending.value
        await world.peripheral.setAdvertising(true)
        #expect(try await reading.value == [1])
        try await world.safe.disconnect()
        #expect(await !world.peripheral.isConnected)
        await world.end()
    }

    @Test func `a disconnect does not leave the next link of another program`() async throws {
        let world = try await World(minorVersion: 66)
        // The agent of the program whose request it is is asked first.
        try await world.safe.connect()
        try await world.safe.disconnect()
        let other = try await world.bluetooth.makeCentral(.quiet())
        let theirs = try await other.find(world.peripheral.id)
        try await theirs.connect()
        let values = try await world.safe.notifications(Self.plain)
        await world.daemon.hang("StopNotify")
        let ending = Task { try await world.backend.disconnect(world.safe.id) }
        await world.daemon.untilHung()
        await world.peripheral.disconnect()
        await world.untilDisconnected(world.safe)
        await world.untilDisconnected(theirs)
        await world.daemon.stopHanging()
        try await theirs.connect()
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.daemon.release()
        try await ending.value
        #expect(try await world.safe.read(Self.plain) == [1])
        await other.shutDown()
        await world.end()
        _ = values
    }

    @Test func `notifications that were stopped for a link that could not be ended are not silent`() async throws {
        let world = try await World()
        await world.peripheral.setPairing(.display(Passkey(654_321)!))
        var events = try await world.safe.notifications(Self.plain).events.makeAsyncIterator()
        await world.daemon.fail("Disconnect", .bluez("Failed", "words"))
        await #expect(throws: BLEError.self) { try await world.safe.pair() }
        #expect(await world.daemon.calls["Disconnect"] == 1)
        guard case .gap = try await events.next() else {
            Issue.record("no gap")
            return
        }
        try await world.safe.disconnect()
        await world.end()
    }

    @Test func `a lost read does not stand in the way of a write`() async throws {
        let world = try await World()
        try await world.safe.setTrusted(true)
        _ = await world.refuse { try await $0.read(Self.secret) }
        world.user.accept()
        try await world.safe.write([3], to: Self.secret)
        let error = await expectError(.failed) { _ = try await world.safe.read(Self.secret) }
        #expect(error?.isRetryable == false)
        await world.end()
    }

    @Test func `an attribute whose answer comes late can be used again`() async throws {
        let world = try await World()
        try await world.safe.setTrusted(true)
        let read = await world.hangingRead()
        await world.peripheral.disconnect()
        await expectError(.disconnected) { try await read.value }
        await expectError(.failed) { _ = try await world.safe.read(Self.plain) }
        await world.daemon.release()
        await until { (try? await world.safe.read(Self.plain)) == [1] }
        await world.end()
    }

    // MARK: Removed objects

    @Test(arguments: [66, 82])
    func `calls for a device that another program removes end, and take no places`(_ minorVersion: Int) async throws {
        let world = try await World(minorVersion: minorVersion)
        for count in 1...16 {
            let read = await world.hangingRead(count)
            await world.daemon.remove(world.peripheral.id)
            await expectError(.disconnected) { try await read.value }
        }
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.end()
    }

    @Test func `attempts to connect to a device that another program removes end, and take no places`() async throws {
        let world = try await World()
        await world.daemon.hang("Connect")
        let connecting = Task { try await world.safe.connect() }
        // As often as attempts to connect may be unanswered. The device is found again each time.
        for count in 1...32 {
            await until { await world.daemon.hungCount == count }
            if count == 32 { await world.daemon.stopHanging() }
            await world.daemon.remove(world.peripheral.id)
        }
        try await connecting.value
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.end()
    }

    @Test func `a call to an attribute that was removed does not count against the next at its path`() async throws {
        let world = try await World()
        try await world.safe.setTrusted(true)
        let read = await world.hangingRead()
        await world.daemon.renewAttributes(of: world.peripheral.id)
        #expect(await read.result.isFailure)
        await world.peripheral.disconnect()
        await world.untilDisconnected(world.safe)
        #expect(try await world.safe.read(Self.plain) == [1])
        await world.end()
    }

    // MARK: The connection to the bus

    @Test func `what bluetoothd has lost is known after the connection to the bus was replaced`() async throws {
        let world = try await World()
        try await world.safe.setTrusted(true)
        _ = await world.refuse { try await $0.read(Self.secret) }
        let second = await world.bluetooth.radio.add(Self.safe)
        let other = try await world.central.find(second.id)
        let third = await world.bluetooth.radio.add(Self.safe)
        var values = try await world.central.find(third.id).notifications(Self.plain).makeAsyncIterator()
        // The bus counts what is never answered. Before it refuses more, the connection is replaced.
        var states = await world.central.adapterStates().makeAsyncIterator()
        for _ in 1...80 { _ = await world.refuse(other) { try await $0.read(Self.secret) } }
        while try await states.next() != .resetting {}
        while try await states.next() != .poweredOn {}
        let loss = await expectError(.bluetoothLost) { try await values.next() }
        #expect(loss?.message.contains("was replaced") == true)
        await expectError(.failed) { _ = try await world.safe.read(Self.secret) }
        // Another bluetoothd has lost nothing.
        await world.daemon.kill()
        try await world.daemon.start()
        while try await states.next() != .resetting {}
        while try await states.next() != .poweredOn {}
        world.user.accept()
        #expect(try await world.safe.read(Self.secret) == [2])
        await world.end()
    }

    @Test func `a search for lost requests that the loss of the bus interrupts does not forget them`() async throws {
        let world = try await World()
        try await world.safe.setTrusted(true)
        var states = await world.central.adapterStates().makeAsyncIterator()
        let read = await world.hangingRead()
        await world.stack.loseLinkAndBus(world.safe.id)
        #expect(await read.result.isFailure)
        while try await states.next() != .resetting {}
        while try await states.next() != .poweredOn {}
        let error = await expectError(.failed) { try await world.safe.read(Self.plain) }
        #expect(error?.isRetryable == false)
        await world.end()
    }
}

extension BlueZStack {
    /// A peripheral's link ends, and the connection to the bus is lost before anything else runs.
    fileprivate func loseLinkAndBus(_ peripheral: Peripheral.ID) {
        guard let path = path(of: peripheral) else { return }
        var properties = DeviceProperties()
        properties.isConnected = false
        update { $0.update(path, .device(properties)) }
        session?.enter { $0.close() }
        loseBus()
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
