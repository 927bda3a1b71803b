import BLE
import BLESimulation
import BLETestSupport
import Testing
import Waiting

/// A central's policy about pairing, on a scripted backend and a clock that the test moves.
@Suite(.hangLimit)
struct CentralPairingTests {
    /// Answers on demand, and records the prompts that it was asked and shown.
    actor User: PairingDelegate {
        private(set) var events: [String] = []
        private var observers: [(count: Int, outcome: Outcome<Void>)] = []
        private var answer = Outcome<Bool>()

        func say(_ answer: Bool) { self.answer.deliver(.success(answer)) }

        /// Returns once that many prompts have been recorded.
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

    let clock = ManualClock()
    let backend = ScriptedBackend()
    let user = User()
    static let number = Passkey(123_456)!

    func central(_ behavior: PairingBehavior) async throws -> Central {
        await backend.set(Bench.database)
        return try await Central(backend: backend, configuration: .quiet(clock: clock, pairing: behavior))
    }

    func strap(_ behavior: PairingBehavior = .justWorks) async throws -> Peripheral {
        try await central(behavior).peripheral(Peripheral.ID(rawValue: "strap"))
    }

    func ask(_ prompt: PairingPrompt, _ peripheral: Peripheral) async -> PairingAnswer {
        await backend.agent.answer(peripheral.id, prompt)
    }

    /// The error that a task threw.
    func failing(_ work: @escaping @Sendable () async throws -> Void) -> Task<BLEError?, Never> {
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

    @Test func `a paired peripheral is not connected to`() async throws {
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

    @Test func `a failed pairing leaves the link of another caller`() async throws {
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
        #expect(error?.message == "pairing took longer than 10.0 seconds")
        #expect(error?.peripheral == strap.id)
        // What the backend says of its own time limit stays.
        await backend.script(.pair, .fail(BLEError(.timedOut, "scripted")))
        #expect(await failing { try await strap.pair() }.value?.message == "scripted")
    }

    @Test func `the deadline covers reading the state, too`() async throws {
        let strap = try await strap()
        await backend.script(.pairingState, .hold, .hold)
        let pairing = failing { try await strap.pair(timeout: .seconds(2)) }
        await backend.asked(.pairingState)
        await clock.sleepers(1, for: .seconds(2))
        clock.advance(by: .seconds(2))
        let error = await pairing.value
        #expect(error?.code == .timedOut)
        #expect(error?.message == "pairing took longer than 2.0 seconds")
        #expect(error?.peripheral == strap.id)
        #expect(await backend.count(.connect) == 0)
        await until { await backend.heldCount == 0 }
        // Connecting has what is left.
        await backend.script(.connect, .hold)
        let slow = failing { try await strap.pair(timeout: .seconds(7)) }
        await backend.asked(.pairingState, 2)
        clock.advance(by: .seconds(3))
        await backend.release(.pairingState)
        await backend.asked(.connect)
        await clock.sleepers(1, for: .seconds(4))
        clock.advance(by: .seconds(4))
        let late = await slow.value
        #expect(late?.code == .timedOut)
        #expect(late?.message == "connecting took longer than 7.0 seconds")
        #expect(await backend.count(.pair) == 0)
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

    @Test func `unpairing ends the link first, and does nothing without a bond`() async throws {
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
}
