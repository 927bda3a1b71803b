import BLE
import BLESimulation
import BLETestSupport
import Testing

/// A central's policy about pairing, on a scripted backend and a clock that the test moves.
@Suite(.hangLimit)
struct CentralPairingTests {
    /// Answers when it is told to, and remembers what it was asked and shown.
    private actor User: PairingDelegate {
        private(set) var events: [String] = []
        private var observers: [(count: Int, outcome: Outcome<Void>)] = []
        private var answer = Outcome<Bool>()

        func say(_ answer: Bool) { self.answer.deliver(.success(answer)) }

        /// Returns once so much has happened.
        func until(_ count: Int) async throws {
            guard events.count < count else { return }
            let outcome = Outcome<Void>()
            observers.append((count, outcome))
            try await outcome.wait()
        }

        private func note(_ event: String) {
            events.append(event)
            for observer in observers where observer.count <= events.count { observer.outcome.deliver(.success(())) }
        }

        func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool {
            note("confirm \(passkey) \(peripheral)")
            let answer = try? await answer.wait()
            if answer == nil { note("cancelled") }
            return answer ?? true
        }

        func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {
            note("show \(passkey) \(entered)")
        }

        func promptEnded(for peripheral: Peripheral) async { note("ended \(peripheral)") }
    }

    private let clock = ManualClock()
    private let backend = ScriptedBackend()
    private let user = User()
    private static let number = Passkey(123_456)!

    private func central(_ behavior: PairingBehavior) async throws -> Central {
        await backend.set(Bench.database)
        return try await Central(backend: backend, configuration: .quiet(clock: clock, pairing: behavior))
    }

    private func strap(_ behavior: PairingBehavior = .justWorks) async throws -> Peripheral {
        try await central(behavior).peripheral(Peripheral.ID(rawValue: "strap"))
    }

    private func ask(_ prompt: PairingPrompt, _ peripheral: Peripheral) async -> PairingAnswer {
        await backend.agent.answer(peripheral.id, prompt)
    }

    /// What a task threw.
    private func failing(_ work: @escaping @Sendable () async throws -> Void) -> Task<BLEError?, Never> {
        Task {
            do {
                try await work()
                return nil
            } catch {
                return error as? BLEError
            }
        }
    }

    // MARK: Pairing

    @Test func `pairing connects first, and the link stays`() async throws {
        let strap = try await strap()
        try await strap.pair()
        #expect(await backend.calls(.connect, .pair, .disconnect) == [.connect(strap.id), .pair(strap.id)])
        #expect(await strap.connectionState == .connected)
        #expect(try await strap.isPaired)
    }

    @Test func `who is paired is not connected to`() async throws {
        let strap = try await strap()
        try await strap.pair()
        try await strap.disconnect()
        let error = await failing { try await strap.pair() }.value
        #expect(error?.code == .alreadyPaired)
        #expect(error?.peripheral == strap.id)
        #expect(await backend.count(.connect) == 1)
    }

    @Test func `a failed pairing ends the link that was made for it`() async throws {
        let strap = try await strap()
        await backend.script(.pair, .fail(.pairingFailed("scripted")))
        #expect(await failing { try await strap.pair() }.value?.code == .pairingFailed)
        #expect(await strap.connectionState == .disconnected)
        #expect(await backend.count(.disconnect) == 1)
    }

    @Test func `a failed pairing leaves the link that somebody else wanted`() async throws {
        let strap = try await strap()
        try await strap.connect()
        await backend.script(.pair, .fail(.pairingFailed("scripted")))
        #expect(await failing { try await strap.pair() }.value?.code == .pairingFailed)
        #expect(await strap.connectionState == .connected)
        // … before, or meanwhile.
        try await strap.disconnect()
        await backend.script(.pair, .hold)
        let pairing = failing { try await strap.pair() }
        await backend.asked(.pair, 2)
        await backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        await backend.release(.pair, .pairingFailed("scripted"))
        #expect(await pairing.value?.code == .pairingFailed)
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a caller that gives up ends the pairing, and the link that was made for it`() async throws {
        let strap = try await strap()
        await backend.script(.pair, .hold)
        let pairing = failing { try await strap.pair() }
        await backend.asked(.pair)
        pairing.cancel()
        #expect(await pairing.value?.code == .cancelled)
        await backend.asked(.disconnect)
        for try await state in await strap.connectionStates() where state == .disconnected { break }
    }

    @Test func `the deadline covers connecting and pairing`() async throws {
        let strap = try await strap()
        await backend.script(.connect, .hold)
        await backend.script(.pair, .hold)
        let pairing = failing { try await strap.pair(timeout: .seconds(10)) }
        await backend.asked(.connect)
        await clock.sleepers(1)
        clock.advance(by: .seconds(6))
        await backend.release(.connect)
        await backend.asked(.pair)
        await clock.sleepers(1)
        clock.advance(by: .seconds(4))
        let error = await pairing.value
        #expect(error?.code == .timedOut)
        #expect(error?.peripheral == strap.id)
    }

    @Test func `pairings of one peripheral take turns`() async throws {
        let strap = try await strap()
        try await strap.connect()
        await backend.script(.pair, .hold, .fail(.alreadyPaired))
        let first = failing { try await strap.pair() }
        await backend.asked(.pair)
        let second = failing { try await strap.pair() }
        await clock.sleepers(2)
        #expect(await backend.count(.pair) == 1)
        await backend.release(.pair)
        #expect(await first.value == nil)
        #expect(await second.value?.code == .alreadyPaired)
    }

    @Test func `unpairing ends the link first, and does nothing where there is no bond`() async throws {
        let strap = try await strap()
        try await strap.unpair()
        #expect(await backend.count(.unpair) == 0)
        try await strap.pair()
        try await strap.unpair()
        #expect(await backend.calls(.disconnect, .unpair) == [.disconnect(strap.id), .unpair(strap.id)])
        #expect(try await strap.isPaired == false)
    }

    @Test func `settings reach the backend`() async throws {
        let strap = try await strap()
        try await strap.setTrusted(true)
        try await strap.setBlocked(false)
        #expect(await backend.calls(.set) == [.set(.trusted, true), .set(.blocked, false)])
    }

    // MARK: Prompts

    @Test func `by default a pairing without numbers is accepted while it is wanted, all else is refused`() async throws
    {
        let strap = try await strap()
        #expect(await ask(.authorizePairing, strap) == .refuse)
        try await strap.connect()
        // A link alone is no reason: whoever has taken the peripheral's place may ask, too.
        #expect(await ask(.authorizePairing, strap) == .refuse)
        for operation in [ScriptedBackend.Operation.read, .pair] {
            await backend.script(operation, .hold)
            let work = Task {
                if operation == .pair { try await strap.pair() } else { _ = try await strap.read(Bench.level) }
            }
            await backend.asked(operation)
            #expect(await ask(.authorizePairing, strap) == .accept)
            await backend.release(operation)
            _ = await work.result
            #expect(await ask(.authorizePairing, strap) == .refuse)
        }
        let prompts: [PairingPrompt] = [
            .confirm(Self.number), .enterPasskey, .enterPINCode, .show(Self.number, entered: 0), .showPINCode("0000"),
            .authorizeService(BluetoothUUID(0x1108)),
        ]
        for prompt in prompts { #expect(await ask(prompt, strap) == .refuse, "\(prompt)") }
        try await strap.disconnect()
        #expect(await ask(.authorizePairing, strap) == .refuse)
        #expect(await backend.agent.capability() == .noInputNoOutput)
        #expect(await backend.agent.isDefault == false)
    }

    @Test func `peripherals may ask for a pairing where the configuration says so, on links of ours`() async throws {
        var pairing = PairingBehavior.justWorks
        pairing.acceptsPeripheralRequests = true
        let strap = try await strap(pairing)
        #expect(await ask(.authorizePairing, strap) == .refuse)
        try await strap.connect()
        #expect(await ask(.authorizePairing, strap) == .accept)
    }

    @Test func `what waits for the end of a prompt while it shows is told of it`() async throws {
        actor Sign: PairingDelegate {
            private var ended: [CheckedContinuation<Void, Never>] = []
            private(set) var shown: [Int] = []
            let hasToEnd = Outcome<Void>()
            func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {
                shown.append(entered)
                await withTaskCancellationHandler {
                    await withCheckedContinuation { ended.append($0) }
                } onCancel: {
                    hasToEnd.deliver(.success(()))
                }
            }
            func promptEnded(for peripheral: Peripheral) {
                for continuation in ended { continuation.resume() }
                ended = []
            }
        }
        let sign = Sign()
        let strap = try await strap(.prompting(sign))
        try await strap.connect()
        #expect(await ask(.show(Self.number, entered: 0), strap) == .accept)
        await until { await sign.shown == [0] }
        // What follows one that is deaf to its cancellation waits, and is not shown any more.
        let next = Task { await ask(.show(Self.number, entered: 1), strap) }
        try await sign.hasToEnd.wait()
        try await strap.disconnect()
        #expect(await next.value == .accept)
        // Its end is told, and there is nothing in the way of the next.
        try await strap.connect()
        #expect(await ask(.show(Self.number, entered: 3), strap) == .accept)
        await until { await sign.shown.last == 3 }
        try await strap.disconnect()
    }

    @Test func `a delegate is asked about our peripherals, about others only as the default agent`() async throws {
        let strap = try await strap(PairingBehavior(capability: .displayYesNo, delegate: user))
        await user.say(true)
        #expect(await ask(.confirm(Self.number), strap) == .refuse)
        #expect(await user.events == [])
        try await strap.connect()
        #expect(await ask(.confirm(Self.number), strap) == .accept)
        #expect(await user.events == ["confirm 123456 strap"])
        let central = try await central(
            PairingBehavior(capability: .displayYesNo, delegate: user, isDefaultAgent: true))
        #expect(await ask(.confirm(Self.number), central.peripheral(Peripheral.ID(rawValue: "lamp"))) == .accept)
        #expect(await backend.agent.isDefault)
        #expect(await backend.agent.capability() == .displayYesNo)
    }

    @Test func `what a delegate does not implement is refused`() async throws {
        struct Nobody: PairingDelegate {}
        let strap = try await strap(.prompting(Nobody()))
        try await strap.connect()
        let prompts: [PairingPrompt] = [
            .confirm(Self.number), .enterPasskey, .enterPINCode, .authorizePairing,
            .authorizeService(BluetoothUUID(0x1108)),
        ]
        for prompt in prompts { #expect(await ask(prompt, strap) == .refuse, "\(prompt)") }
    }

    @Test func `a question ends after 60 s`() async throws {
        let strap = try await strap(.prompting(user))
        try await strap.connect()
        async let answer = ask(.confirm(Self.number), strap)
        try await user.until(1)
        await clock.sleepers(1)
        clock.advance(by: .seconds(60))
        #expect(await answer == .refuse)
        try await user.until(3)
        #expect(Set(await user.events) == ["confirm 123456 strap", "cancelled", "ended strap"])
    }

    @Test(arguments: ["link", "stack", "pairing", "central", "backend"])
    func `a question ends with`(_ end: String) async throws {
        let strap = try await strap(.prompting(user))
        try await strap.connect()
        let answer = Task { await ask(.confirm(Self.number), strap) }
        try await user.until(1)
        switch end {
        case "link": await backend.emit(.linkEnded(strap.id, Bench.error(.disconnected)))
        case "stack": await backend.emit(.stackLost(Bench.error(.bluetoothLost)))
        case "pairing": await backend.emit(.pairingEnded(strap.id))
        case "central": await strap.central.shutDown()
        default: answer.cancel()
        }
        #expect(await answer.value == .refuse)
        try await user.until(3)
        #expect(Set(await user.events) == ["confirm 123456 strap", "cancelled", "ended strap"])
    }

    @Test func `a number is shown with the digits entered, in order, and taken away when the pairing ends`()
        async throws
    {
        let strap = try await strap(.prompting(user))
        await backend.script(.pair, .hold)
        let pairing = failing { try await strap.pair() }
        await backend.asked(.pair)
        for entered in 0...6 { #expect(await ask(.show(Self.number, entered: entered), strap) == .accept) }
        await backend.release(.pair)
        #expect(await pairing.value == nil)
        try await user.until(8)
        #expect(await user.events == (0...6).map { "show 123456 \($0)" } + ["ended strap"])
    }
}
