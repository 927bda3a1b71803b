import BLE
import BLESimulation
import Testing

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
        let task = contract.failing(work)
        await clock.sleepers(for: Self.delay)
        clock.advance(by: Self.delay - .milliseconds(1))
        // It still sleeps.
        await clock.sleepers(for: Self.delay)
        clock.advance(by: .milliseconds(1))
        #expect(await task.value == nil, sourceLocation: sourceLocation)
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
