import BLE
import BLESimulation
import BLETestSupport
import Testing
import Waiting

extension CentralPairingTests {
    @Test func `by default a pairing without numbers is accepted while it is wanted, all else is refused`() async throws
    {
        let strap = try await strap()
        #expect(await ask(.authorizePairing, strap) == .refuse)
        try await strap.connect()
        // A link alone is not enough: another device that has taken the peripheral's place may ask, too.
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

    @Test func `a caller that waits for the end of a prompt is notified of it`() async throws {
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
        // The prompt after one that ignores its cancellation waits, and is no longer shown.
        let next = Task { await ask(.show(Self.number, entered: 1), strap) }
        try await sign.hasToEnd.wait()
        try await strap.disconnect()
        #expect(await next.value == .accept)
        // Its end is reported, and the next one can be shown.
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

    @Test func `a question ends when its pairing is given up, before the backend has ended the pairing`() async throws {
        let strap = try await strap(.prompting(user))
        await backend.script(.pair, .ignore)
        let pairing = failing { try await strap.pair() }
        await backend.asked(.pair)
        let answer = Task { await ask(.confirm(Self.number), strap) }
        try await user.until(1)
        pairing.cancel()
        #expect(await answer.value == .refuse)
        // What the backend asks while it ends the pairing is refused, and the delegate is not asked.
        #expect(await ask(.confirm(Self.number), strap) == .refuse)
        #expect(await user.events.count { $0.hasPrefix("confirm") } == 1)
        await backend.release(.pair, .cancelled)
        #expect(await pairing.value?.code == .cancelled)
    }

    @Test func `by default nothing is accepted for a pairing that was given up, until the next one`() async throws {
        let strap = try await strap()
        await backend.script(.pair, .ignore, .hold)
        let pairing = failing { try await strap.pair() }
        await backend.asked(.pair)
        #expect(await ask(.authorizePairing, strap) == .accept)
        pairing.cancel()
        await until { await ask(.authorizePairing, strap) == .refuse }
        await backend.release(.pair, .cancelled)
        #expect(await pairing.value?.code == .cancelled)
        let next = failing { try await strap.pair() }
        await backend.asked(.pair, 2)
        #expect(await ask(.authorizePairing, strap) == .accept)
        await backend.release(.pair)
        #expect(await next.value == nil)
    }
}
