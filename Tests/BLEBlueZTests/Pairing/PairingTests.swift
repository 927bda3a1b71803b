import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Logging
import Loop
import Testing
import Waiting

/// Pairing through a fake bluetoothd: messages on the bus, and failures.
@Suite(.startsProcesses, .hangLimit)
struct PairingTests {
    private struct Yes: PairingDelegate {
        func authorizePairing(with peripheral: Peripheral) async -> Bool { true }
        func enterPasskey(for peripheral: Peripheral) async -> Passkey? { Passkey(123_456) }
    }

    private struct No: PairingDelegate {
        func authorizePairing(with peripheral: Peripheral) async -> Bool { false }
    }

    /// A bus with a lock behind its daemon.
    private struct World {
        let bluetooth: BlueZWorld
        let grip: SimulatedPeripheral
        var daemon: FakeBlueZ { bluetooth.daemon }

        init(
            policy: String = PrivateBus.policy(), hasAgentManager: Bool = true, minorVersion: Int = 66
        ) async throws {
            bluetooth = try await BlueZWorld(
                policy: policy, hasAgentManager: hasAgentManager, minorVersion: minorVersion)
            grip = await bluetooth.radio.add(.lock())
        }

        func central(_ pairing: PairingBehavior = .justWorks) async throws -> Central {
            try await bluetooth.makeCentral(.quiet(pairing: pairing))
        }
    }

    @Test(arguments: IOCapability.allCases)
    func `the agent is registered with its capability`(_ capability: IOCapability) async throws {
        let world = try await World()
        let central = try await world.central(.prompting(Yes(), capability: capability))
        // A central that only scans has none.
        let lock = try await central.find(world.grip.id)
        #expect(await world.daemon.agentCapabilities == [])
        try await lock.connect()
        #expect(await world.daemon.agentCapabilities == [capability])
        #expect(await world.daemon.calls["RequestDefaultAgent"] == nil)
        await central.shutDown()
    }

    private actor Entering: PairingDelegate {
        var count = 0
        func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
            count += 1
            return Passkey(123_456)
        }
    }

    /// The kernel copies its capability to the link, and that of the agent waits behind other commands.
    @Test func `a link is made once the kernel has the capability of the agent`() async throws {
        let world = try await World(minorVersion: 82)
        await world.grip.setPairing(.display(Passkey(123_456)!))
        let (clock, user) = (ManualClock(), Entering())
        let central = try await world.bluetooth.makeCentral(
            .quiet(clock: clock, pairing: .prompting(user, capability: .keyboardOnly)))
        let lock = try await central.find(world.grip.id)
        await world.daemon.hang("Set IO Capability")
        let pairing = Task { try await lock.pair() }
        let waitsForKernel = Outcome<Bool>()
        Task {
            await clock.sleepers(1, for: .seconds(1))
            waitsForKernel.deliver(.success(true))
        }
        Task {
            _ = await pairing.result
            waitsForKernel.deliver(.success(false))
        }
        #expect(try await waitsForKernel.wait())
        await world.daemon.release()
        try await pairing.value
        #expect(await user.count == 1)
        await central.shutDown()
    }

    @Test func `an adapter that is not to be pairable delays the first link by a second at most`() async throws {
        let world = try await World()
        let clock = ManualClock()
        let central = try await world.bluetooth.makeCentral(.quiet(clock: clock))
        let lock = try await central.find(world.grip.id)
        await world.daemon.hang("Set IO Capability")
        let connecting = Task { try await lock.connect() }
        await clock.sleepers(1, for: .seconds(1))
        clock.advance(by: .seconds(1))
        try await connecting.value
        try await lock.disconnect()
        // Once is enough.
        try await lock.connect()
        await world.daemon.release()
        await central.shutDown()
    }

    @Test func `an agent is unregistered before its connection to the bus ends`() async throws {
        let world = try await World()
        let central = try await world.central()
        try await central.find(world.grip.id).connect()
        #expect(await world.daemon.isPairable)
        await central.shutDown()
        #expect(await world.daemon.calls["UnregisterAgent"] == 1)
        #expect(await world.daemon.agentCapabilities == [])
    }

    @Test func `the default agent is asked for only when the configuration says so`() async throws {
        let world = try await World()
        let first = try await world.central()
        try await first.find(world.grip.id).connect()
        let second = try await world.central(
            PairingBehavior(capability: .keyboardOnly, delegate: Yes(), isDefaultAgent: true))
        #expect(await world.daemon.agentCapabilities == [.keyboardOnly, .noInputNoOutput])
        await first.shutDown()
        await second.shutDown()
    }

    @Test func `two pairings at once have each the capability of its own client's agent`() async throws {
        let world = try await BlueZWorld()
        let passkey = Passkey(123_456)!
        var (things, centrals): ([SimulatedPeripheral], [Central]) = ([], [])
        for (name, pairing) in [("One", PairingBehavior.justWorks), ("Two", .prompting(Yes()))] {
            things.append(await world.radio.add(.battery(name: name), pairing: .display(passkey)))
            centrals.append(try await world.makeCentral(.quiet(pairing: pairing)))
        }
        var (held, pairings): ([SimulatedFault], [Task<Void, any Error>]) = ([], [])
        for (thing, central) in zip(things, centrals) {
            let remote = try await central.find(thing.id)
            try await remote.connect()
            held.append(await thing.hold(.pair))
            pairings.append(Task { try await remote.pair() })
            await held.last?.disturbed()
        }
        for (fault, pairing) in zip(held, pairings) {
            await fault.release()
            try await pairing.value
        }
        for thing in things { #expect(await thing.isPaired) }
        for central in centrals { await central.shutDown() }
    }

    @Test func `a new bluetoothd is given the agent again`() async throws {
        let world = try await World()
        let central = try await world.central(.prompting(Yes()))
        try await central.find(world.grip.id).connect()
        var states = await central.adapterStates().makeAsyncIterator()
        await world.daemon.kill()
        #expect(await world.daemon.agentCapabilities == [])
        try await world.daemon.start()
        while try await states.next() != .resetting {}
        while try await states.next() != .poweredOn {}
        #expect(await world.daemon.agentCapabilities == [.keyboardDisplay])
        await world.grip.setPairing(.display(Passkey(123_456)!))
        try await central.find(world.grip.id).pair()
        #expect(await world.grip.isPaired)
        await central.shutDown()
    }

    @Test func `without an agent manager all but pairing works`() async throws {
        let world = try await World(hasAgentManager: false)
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        #expect(try await lock.services()[BluetoothUUID(0xFF00)] != nil)
        let error = await expectError(.pairingFailed) { try await lock.pair() }
        #expect(error?.remedy?.contains("agent") == true)
        await central.shutDown()
    }

    @Test func `a bus that forbids calls of clients does not stop a central from starting`() async throws {
        let world = try await World(
            policy: PrivateBus.policy(
                denying: #"send_interface="\#(BlueZ.agent)""#, #"send_interface="\#(BlueZ.agentManager)""#))
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await expectError(.pairingFailed) { try await lock.pair() }
        await central.shutDown()
    }

    @Test func `only bluetoothd may call the agent`() async throws {
        let world = try await World()
        let central = try await world.central(.prompting(Yes()))
        try await central.find(world.grip.id).connect()
        let owner = try #require(await world.daemon.agentOwners.first)
        let stranger = BusSession(
            loop: EventLoop(name: "stranger"), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})
        try await stranger.open(.address(world.bluetooth.bus.address), timeout: HangLimit.step)
        await #expect {
            _ = try await stranger.call(
                MethodCall(owner, "/org/swift_ble/agent", BlueZ.agent, "Cancel"), timeout: HangLimit.step)
        } throws: {
            ($0 as? DBusError)?.name == "org.freedesktop.DBus.Error.AccessDenied"
        }
        await stranger.close()
        await central.shutDown()
    }

    @Test(arguments: [
        (DBusError.bluez("AlreadyExists", "words"), BLEError.Code.alreadyPaired),
        (.bluez("AuthenticationFailed", "words"), .pairingFailed),
        (.bluez("AuthenticationRejected", "words"), .pairingRejected),
        (.bluez("AuthenticationCanceled", "words"), .pairingCancelled),
        (.bluez("AuthenticationTimeout", "words"), .pairingTimedOut),
        (.bluez("ConnectionAttemptFailed", "words"), .connectionFailed),
        (.bluez("Failed", "words"), .pairingFailed), (.bluez("NotReady", "words"), .poweredOff),
        (.bluez("DoesNotExist", "words"), .peripheralNotFound),
        (.bus("AccessDenied", "words"), .unauthorized),
    ])
    func `each answer to Pair has its code`(_ answer: DBusError, _ code: BLEError.Code) async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.fail("Pair", answer)
        let error = await expectError(code) { try await lock.pair() }
        #expect(error?.stackErrorName == answer.name)
        #expect(error?.peripheral == lock.id)
        #expect(try await lock.isPaired == false)
        await central.shutDown()
    }

    @Test func `a pairing that another client holds up is tried again`() async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.fail("Pair", .bluez("InProgress", "In Progress"))
        try await lock.pair()
        #expect(await world.daemon.calls["Pair"] == 2)
        await central.shutDown()
    }

    @Test func `a pairing that waits for that of another client is given up without ending the other`() async throws {
        let world = try await World(minorVersion: 82)
        let clock = ManualClock()
        let central = try await world.bluetooth.makeCentral(.quiet(clock: clock))
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.fail("Pair", .bluez("InProgress", "In Progress"))
        let pairing = Task { try await lock.pair() }
        await clock.sleepers(1, for: .milliseconds(100))
        pairing.cancel()
        await expectError(.cancelled) { try await pairing.value }
        #expect(await world.daemon.calls["CancelPairing"] == nil)
        // The other client's pairing needs the link.
        #expect(await lock.connectionState == .connected)
        await central.shutDown()
    }

    @Test func `a read that bluetoothd fails because a pairing begins is repeated once`() async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        let unlikely = DBusError.bluez("Failed", "Operation failed with ATT error: 0x0e")
        await world.daemon.fail("ReadValue", unlikely)
        #expect(try await lock.read(.lockSecret) == [1])
        #expect(await world.daemon.calls["ReadValue"] == 2)
        // It is paired by now, so this is the peripheral's answer.
        await world.daemon.fail("ReadValue", unlikely)
        let error = await expectError(.attributeError) { try await lock.read(.lockSecret) }
        #expect(error?.attError == .unlikelyError)
        await central.shutDown()
    }

    @Test(arguments: [1, 28])
    func `a read that fails with 0x0e after a while is repeated once, and then it is the peripheral's error`(
        seconds: Int
    ) async throws {
        let world = try await World()
        let clock = ManualClock()
        let central = try await world.bluetooth.makeCentral(.quiet(clock: clock))
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.hang("ReadValue")
        let unlikely = DBusError.bluez("Failed", "Operation failed with ATT error: 0x0e")
        for _ in 1...2 { await world.daemon.fail("ReadValue", unlikely) }
        let reading = Task { try await lock.read(.lockSecret, timeout: .seconds(3600)) }
        await world.daemon.untilHung()
        clock.advance(by: .seconds(seconds))
        await world.daemon.release()
        let error = await expectError(.attributeError) { try await reading.value }
        #expect(error?.attError == .unlikelyError)
        #expect(await world.daemon.calls["ReadValue"] == 2)
        await central.shutDown()
    }

    @Test func `a repeated read ends with its caller`() async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.fail("ReadValue", .bluez("Failed", "Operation failed with ATT error: 0x0e"))
        await world.daemon.hang("after ReadValue")
        let reading = Task { try await lock.read(.lockSecret) }
        await world.daemon.untilHung()
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
        await world.daemon.release()
        #expect(try await lock.read(.lockSecret) == [1])
        await central.shutDown()
    }

    @Test func `a link that cannot be ended after a failed pairing is not taken for one that has ended`() async throws {
        let world = try await World(minorVersion: 82)
        await world.grip.setPairing(.display(Passkey(654_321)!))
        let central = try await world.central(.prompting(Yes()))
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await world.daemon.fail("Disconnect", .bluez("Failed", "words"))
        await expectError(.pairingFailed) { try await lock.pair() }
        #expect(await world.daemon.calls["Disconnect"] == 1)
        #expect(await lock.connectionState == .connected)
        try await lock.disconnect()
        #expect(await world.daemon.calls["Disconnect"] == 2)
        #expect(await !world.grip.isConnected)
        await central.shutDown()
    }

    @Test func `the end of a pairing that was given up does not end the next link`() async throws {
        final class Never: PairingDelegate {
            let isAsked = SharedValue(false)
            func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
                isAsked.change { $0 = true }
                await untilCancelled()
                return nil
            }
        }
        let world = try await World(minorVersion: 82)
        await world.grip.setPairing(.display(Passkey(123_456)!))
        let user = Never()
        // The time for the end of a pairing does not pass.
        let central = try await world.bluetooth.makeCentral(
            .quiet(clock: ManualClock(), pairing: .prompting(user)))
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        let pairing = Task { try await lock.pair() }
        try await user.isAsked.until { $0 }
        await world.daemon.hang("CancelPairing")
        pairing.cancel()
        await world.daemon.untilHung()
        await world.grip.disconnect()
        await until { await lock.connectionState == .disconnected }
        await world.daemon.stopHanging()
        try await lock.connect()
        await world.daemon.release()
        // It returns when the backend is done with the pairing.
        await expectError(.cancelled) { try await pairing.value }
        #expect(await world.daemon.calls["Disconnect"] == nil)
        #expect(await lock.connectionState == .connected)
        await central.shutDown()
    }

    @Test func `a device whose request was lost with its link is forgotten and found again`() async throws {
        let world = try await World(minorVersion: 82)
        let central = try await world.central(.prompting(No()))
        let lock = try await central.find(world.grip.id)
        // More requests than one device may leave unanswered. Before the bus refuses more, its connection is replaced,
        // which affects at most one of the operations.
        var codes: [BLEError.Code] = []
        for _ in 1...80 {
            do throws(BLEError) { _ = try await lock.read(.lockSecret) } catch { codes.append(error.code) }
            for try await state in await lock.connectionStates() where state == .disconnected { break }
        }
        #expect(codes.count == 80)
        #expect(codes.count { $0 == .bluetoothLost } <= 1)
        // The end of the link may be reported before the refusal.
        #expect(codes.allSatisfy { [.pairingRequired, .disconnected, .bluetoothLost].contains($0) })
        let refused = codes.count { $0 == .pairingRequired }
        #expect(refused > 70)
        // The device is forgotten before it is connected to again, so not for the last.
        let forgotten = await world.daemon.calls["RemoveDevice", default: 0]
        #expect(forgotten >= refused - 2)
        await central.shutDown()
        await world.daemon.release()
    }

    @Test func `a device that a user has trusted is not forgotten, and an attribute is refused instead`() async throws {
        let world = try await World(minorVersion: 82)
        let central = try await world.central(.prompting(No()))
        let lock = try await central.find(world.grip.id)
        try await lock.setTrusted(true)
        await expectError(.pairingRequired) { _ = try await lock.read(.lockSecret) }
        for try await state in await lock.connectionStates() where state == .disconnected { break }
        let error = await expectError(.failed) { _ = try await lock.read(.lockSecret) }
        #expect(error?.remedy?.contains("remove its trust and alias") == true)
        #expect(error?.isRetryable == false)
        #expect(await world.daemon.calls["RemoveDevice"] == nil)
        // The other attributes can be used: this one is refused by the user once more.
        await expectError(.pairingRequired) { try await lock.write([1], to: .lockSetting) }
        #expect(try await lock.pairingState().isTrusted)
        await central.shutDown()
        await world.daemon.release()
    }

    @Test(arguments: [66, 82])
    func `a link on which nothing is sent after a failed pairing is ended`(_ minorVersion: Int) async throws {
        let world = try await World(minorVersion: minorVersion)
        await world.grip.setPairing(.display(Passkey(654_321)!))
        let central = try await world.central(.prompting(Yes()))
        let lock = try await central.find(world.grip.id)
        try await lock.connect()
        await expectError(.pairingFailed) { try await lock.pair() }
        #expect(await lock.connectionState == (minorVersion == 82 ? .disconnected : .connected))
        await world.grip.setPairing(.display(Passkey(123_456)!))
        try await lock.pair()
        #expect(try await lock.read(.lockSealed) == [2])
        await central.shutDown()
    }

    @Test func `a bond is never risked by pairing again or by cancelling`() async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.pair()
        await expectError(.alreadyPaired) { try await lock.pair() }
        #expect(await world.daemon.calls["Pair"] == 1)
        #expect(await world.daemon.calls["CancelPairing"] == nil)
        await central.shutDown()
    }

    @Test func `a peripheral that distributes its identity is known by both addresses`() async throws {
        let world = try await World()
        let identity = Peripheral.ID(rawValue: "F0:F1:F2:F3:F4:F5")
        await world.daemon.setIdentity(identity.rawValue, of: world.grip.id)
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.pair()
        #expect(try await lock.pairingState().identity == identity)
        // The handle from the first discovery stays valid, on this link and on the next.
        #expect(try await lock.read(.lockSecret) == [1])
        #expect(await lock.connectionState == .connected)
        try await lock.disconnect()
        #expect(try await lock.read(.lockSecret) == [1])
        await world.grip.disconnect()
        for try await state in await lock.connectionStates() where state == .disconnected { break }
        // So does one that is made of the identity.
        let same = central.peripheral(identity)
        #expect(try await same.isPaired)
        #expect(try await same.read(.lockSecret) == [1])
        await world.grip.disconnect()
        for try await state in await same.connectionStates() where state == .disconnected { break }
        #expect(await central.knownPeripherals().map(\.id) == [lock.id])
        await central.shutDown()
    }

    @Test func `trust and blocking are properties of the device`() async throws {
        let world = try await World()
        let central = try await world.central()
        let lock = try await central.find(world.grip.id)
        try await lock.setTrusted(true)
        #expect(try await lock.pairingState().isTrusted)
        try await lock.connect()
        try await lock.setBlocked(true)
        for try await state in await lock.connectionStates() where state == .disconnected { break }
        #expect(try await lock.pairingState().isBlocked)
        await central.shutDown()
    }
}
