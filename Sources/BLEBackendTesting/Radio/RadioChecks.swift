import BLE
import BLESimulation
import Testing
internal import Waiting

/// The shared parts of the checks of a simulated radio.
struct RadioChecks {
    let contract: Contract
    let peer: any SimulatedStrapPeer
    /// The clock of the radio. Deadlines of the central are on a real one.
    let clock: ManualClock

    init(_ peer: any SimulatedStrapPeer) throws {
        self.peer = peer
        clock = try #require(
            peer.peripheral.disturbed.radio.clock as? ManualClock, "the radio of the peer needs a ManualClock")
        contract = Contract(peer: peer)
    }

    var device: SimulatedPeripheral { peer.peripheral }
    var radio: SimulatedRadio { device.disturbed.radio }
    var facts: FaultFacts { peer.faultFacts }

    /// The delay of the checks, which is that of no other sleep.
    static let delay = Duration.milliseconds(1250)
    /// A deadline of what is never answered. A check is the same if it is reached early.
    static let deadline = Duration.milliseconds(200)

    /// Expects that `work` takes exactly ``delay``, and no error.
    func takesDelay(
        sourceLocation: SourceLocation = #_sourceLocation, _ work: @escaping @Sendable () async throws -> Void
    ) async {
        await clock.expectDelay(of: contract.failing(work), sourceLocation: sourceLocation)
    }

    /// Returns once no central scans: nothing else sleeps on the clock. A scan that begins before the last one has
    /// ended hears nothing until time passes.
    func untilSilent() async {
        while clock.sleeperCount > 0 { await Task.yield() }
    }

    /// Switches the adapter, and returns once the central knows.
    func setPowered(_ isPowered: Bool, _ central: Central) async throws {
        var states = await central.adapterStates().makeAsyncIterator()
        try await peer.setPowered(isPowered)
        while let state = try await states.next(), state != (isPowered ? .poweredOn : .poweredOff) {}
    }

    /// Runs a check for each kind of request, with a link of its own.
    func forEachRequest(_ check: (FaultedRequest, Peripheral) async throws -> Void) async throws {
        try await contract.withStrap { strap in
            for request in FaultedRequest.all {
                try await strap.connect()
                await peer.strap.reset()
                try await check(request, strap)
                await device.removeFaults()
                await device.dropLink()
                try await contract.until(.disconnected, strap)
            }
        }
    }
}

extension ManualClock {
    /// Expects that work takes exactly the delay of the checks, and no error.
    func expectDelay(of work: Task<BLEError?, Never>, sourceLocation: SourceLocation = #_sourceLocation) async {
        await expectSleep(before: work, sourceLocation: sourceLocation)
        advance(by: RadioChecks.delay - .milliseconds(1))
        // It still sleeps.
        await expectSleep(before: work, sourceLocation: sourceLocation)
        advance(by: .milliseconds(1))
        #expect(await work.value == nil, sourceLocation: sourceLocation)
    }

    /// Expects that a fault holds an event until it is released: a delay of the same event begins only then.
    ///
    /// - Parameter begin: causes the event. Returns what waits for it; nil if nothing does.
    func expectHold(
        of event: SimulatedEvent, _ disturbed: some SimulatedDisturbance,
        sourceLocation: SourceLocation = #_sourceLocation, begin: () async throws -> Task<BLEError?, Never>?
    ) async throws {
        let held = await disturbed.hold(event, .next(1))
        await disturbed.delay(event, .next(1), by: RadioChecks.delay)
        let work = try await begin()
        await held.disturbed()
        advance(by: RadioChecks.delay)
        await held.release()
        guard let work else {
            await sleepers(for: RadioChecks.delay)
            return advance(by: RadioChecks.delay)
        }
        await expectSleep(before: work, sourceLocation: sourceLocation)
        advance(by: RadioChecks.delay)
        #expect(await work.value == nil, sourceLocation: sourceLocation)
    }

    /// Expects that something sleeps for a duration before work ends.
    func expectSleep(
        for duration: Duration = RadioChecks.delay, before work: Task<BLEError?, Never>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let sleeps = Outcome<Bool>()
        Task {
            await self.sleepers(for: duration)
            sleeps.deliver(.success(true))
        }
        Task {
            _ = await work.value
            sleeps.deliver(.success(false))
        }
        #expect((try? await sleeps.wait()) == true, "it ended without a wait", sourceLocation: sourceLocation)
    }
}

/// A request of a central to the strap.
struct FaultedRequest: Sendable {
    let event: SimulatedEvent
    let perform: @Sendable (Peripheral, Duration?) async throws -> Void
    /// What the request writes.
    var written: [UInt8] = []

    static let all = [
        FaultedRequest(event: .read(of: EchoStrap.twin)) { strap, timeout in
            let value = try await strap.read(EchoStrap.twin, timeout: timeout)
            #expect(value == Array("first".utf8))
        },
        FaultedRequest(
            event: .write(of: EchoStrap.input),
            perform: { try await $0.write([9], to: EchoStrap.input, timeout: $1) }, written: [9]),
        FaultedRequest(event: .subscribe(to: EchoStrap.output)) { strap, timeout in
            _ = try await strap.notifications(EchoStrap.output, timeout: timeout)
        },
    ]
}
