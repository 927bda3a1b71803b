import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Methods of pairing that the contract leaves out, in the way of a user's own tests.
@Suite(.hangLimit)
struct SimulatedPairingTests {
    private struct User: PairingDelegate {
        var passkey: Passkey?

        func enterPasskey(for peripheral: Peripheral) async -> Passkey? { passkey }
        func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool { true }
        func authorizePairing(with peripheral: Peripheral) async -> Bool { true }
    }

    private let clock = ManualClock()
    private let radio: SimulatedRadio

    init() { radio = SimulatedRadio(clock: clock) }

    private func lock(
        _ method: SimulatedPairing, _ behavior: PairingBehavior = .justWorks
    ) async throws -> (peripheral: Peripheral, grip: SimulatedPeripheral) {
        let grip = await radio.add(.lock(), pairing: method)
        return (try await central(behavior).find(grip.id), grip)
    }

    private func central(_ behavior: PairingBehavior) async throws -> Central {
        try await Central(backend: .simulated(radio), configuration: .quiet(clock: clock, pairing: behavior))
    }

    @Test func `writing and subscribing pair as reading does`() async throws {
        let (writing, grip) = try await lock(.justWorks)
        try await writing.write([9], to: .lockSetting)
        #expect(await grip.isPaired)
        #expect(await grip.value(of: BluetoothUUID(0xFF03)) == [9])
        let (subscribing, other) = try await lock(.display(Passkey(7)!), .prompting(User(passkey: Passkey(7))))
        _ = try await subscribing.notifications(.lockSealed)
        #expect(await other.isPaired)
    }

    @Test func `operations that want security share one pairing`() async throws {
        let (peripheral, _) = try await lock(.comparison { _ in true }, .prompting(User()))
        async let first = peripheral.read(.lockSecret)
        async let second = peripheral.read(.lockSealed)
        #expect(try await first == [1])
        #expect(try await second == [2])
    }

    @Test func `a bond is there for every central and after a restart`() async throws {
        let (peripheral, grip) = try await lock(.justWorks)
        try await peripheral.pair()
        await peripheral.central.shutDown()
        await radio.stop()
        await radio.restart()
        let central = try await central(.justWorks)
        let known = await central.knownPeripherals().map(\.id)
        #expect(known == [grip.id])
        #expect(try await central.peripheral(grip.id).isPaired)
        #expect(try await central.peripheral(grip.id).read(.lockSecret) == [1])
    }

    @Test func `a peripheral that has lost its bond refuses until it is unpaired`() async throws {
        let (peripheral, grip) = try await lock(.justWorks)
        try await peripheral.pair()
        try await peripheral.disconnect()
        await grip.loseBond()
        await expectError(.pairingRequired) { _ = try await peripheral.read(.lockSecret) }
        #expect(try await peripheral.isPaired)
        try await peripheral.unpair()
        let found = try await peripheral.central.find(grip.id)
        #expect(try await found.read(.lockSecret) == [1])
    }

    @Test func `a peripheral that does not answer ends the link after 30 s`() async throws {
        let (peripheral, grip) = try await lock(.unanswered)
        try await peripheral.connect()
        let pairing = Task { try await peripheral.pair() }
        await until { await grip.isPairing }
        await clock.sleepers(2)
        clock.advance(by: .seconds(30))
        await expectError(.disconnected) { try await pairing.value }
        #expect(await grip.isPaired == false)
        await until { await peripheral.connectionState == .disconnected }
    }

    @Test func `a pairing that was given up does not stand in the way of others`() async throws {
        let (peripheral, grip) = try await lock(.unanswered)
        let pairing = Task { try await peripheral.pair() }
        await until { await grip.isPairing }
        let other = try await central(.justWorks)
        let same = try await other.find(try await lock(.justWorks).grip.id)
        try await same.pair()
        pairing.cancel()
        await expectError(.cancelled) { try await pairing.value }
        await grip.setPairing(.justWorks)
        try await peripheral.pair()
        #expect(await grip.isPaired)
    }
}
