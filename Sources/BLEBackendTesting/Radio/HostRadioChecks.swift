import BLE
import BLESimulation
import Testing

/// The checks of a simulated radio below a host. Deadlines of the host and of the centrals are on a real clock.
struct HostRadioChecks {
    private let peer: any SimulatedHostPeer
    private let serving: ServingContract
    private let clock: ManualClock
    private var radio: SimulatedRadio { peer.radio }

    private static let level = ServingContract.output
    private static let definition = ServingContract.definition(
        CharacteristicDefinition(level.uuid, [.read, .write, .indicate], value: [7]))

    init(_ peer: any SimulatedHostPeer) throws {
        self.peer = peer
        clock = try #require(peer.radio.clock as? ManualClock, "the radio of the peer needs a ManualClock")
        serving = ServingContract(peer: peer)
    }

    /// Starts to serve. The task ends with the error, or once a central has read the value.
    private func serve(_ host: PeripheralHost) -> Task<BLEError?, Never> {
        serving.failing {
            try await host.withServed(Self.definition) { _ in
                try await serving.withCentral { central in
                    let value = try await serving.find(central).read(Self.level)
                    #expect(value == [7])
                }
            }
        }
    }

    private func withServed(
        _ check: (ServedPeripheral, Peripheral, SimulatedPeripheral) async throws -> Void
    ) async throws {
        try await serving.withServed(Self.definition) { _, served, remote in
            try await check(served, remote, try #require(await radio.hostedPeripherals.first))
        }
    }

    // MARK: Registrations

    /// What registers, and its error if the controller refuses.
    private var registrations: [(event: SimulatedEvent, refusal: BLEError.Code)] {
        [(.register, .failed), (.advertise, peer.faultFacts.failedAdvertising)]
    }

    func failingRegistrations() async throws {
        try await serving.withHost { host in
            for (event, refusal) in registrations {
                let fault = await radio.fail(event, .next(1))
                #expect(await serve(host).value?.code == refusal)
                #expect(await fault.count == 1)
                await radio.dropLink(before: event, .next(1))
                #expect(await serve(host).value?.code == refusal)
                #expect(await serve(host).value == nil)
            }
        }
    }

    func heldRegistrations() async throws {
        try await serving.withHost { host in
            for event in [SimulatedEvent.register, .advertise] {
                await radio.delay(event, .next(1), by: RadioChecks.delay)
                await clock.expectDelay(of: serve(host))

                try await clock.expectHold(of: event, radio) { serve(host) }

                // One that is cancelled while it is held leaves nothing behind.
                let again = await radio.hold(event, .next(1))
                let cancelled = serve(host)
                await again.disturbed()
                cancelled.cancel()
                await again.release()
                #expect(await cancelled.value?.code == .cancelled)
                #expect(await serve(host).value == nil)
            }
        }
    }

    func unansweredRegistrations() async throws {
        try await serving.withHost { host in
            for (event, refusal) in registrations {
                await radio.ignore(event, .next(1))
                let unanswered = serve(host)
                // What the system waits for an answer.
                await clock.expectSleep(for: .seconds(25), before: unanswered)
                clock.advance(by: .seconds(25))
                let code = peer.faultFacts.tellsSilence ? .timedOut : refusal
                #expect(await unanswered.value?.code == code)
                #expect(await serve(host).value == nil)
            }
        }
    }

    // MARK: Requests

    /// Reading, and writing.
    private static let requests: [@Sendable (Peripheral, Duration?) async throws -> Void] = [
        { remote, timeout in
            let value = try await remote.read(level, timeout: timeout)
            #expect(value == [7])
        },
        { try await $0.write([7], to: level, timeout: $1) },
    ]

    func refusedRequests() async throws {
        try await withServed { _, remote, device in
            for request in Self.requests {
                let fault = await device.fail(.request, .next(1), with: .insufficientResources)
                let refused = await serving.error { try await request(remote, nil) }
                #expect(refused?.code == .attributeError)
                #expect(refused?.attError == .insufficientResources)
                #expect(await fault.count == 1)
                try await request(remote, nil)
            }
        }
    }

    func heldRequests() async throws {
        try await withServed { _, remote, device in
            for request in Self.requests {
                await device.delay(.request, .next(1), by: RadioChecks.delay)
                await clock.expectDelay(of: serving.failing { try await request(remote, nil) })

                try await clock.expectHold(of: .request, device) {
                    serving.failing { try await request(remote, nil) }
                }

                let lost = await device.hold(.request, .next(1))
                let ended = serving.failing { try await request(remote, nil) }
                await lost.disturbed()
                await device.dropLink()
                #expect(await ended.value?.code == .disconnected)
                try await remote.connect()
            }
        }
    }

    func unansweredRequests() async throws {
        try await withServed { _, remote, device in
            for request in Self.requests {
                await device.ignore(.request, .next(1))
                #expect(
                    await serving.error { try await request(remote, RadioChecks.deadline) }?.code == .timedOut)
            }
            try await Self.requests[0](remote, nil)
        }
    }

    func lostRequests() async throws {
        try await withServed { served, remote, device in
            await device.dropLink(before: .request, .next(1))
            #expect(await serving.error { try await remote.write([1], to: Self.level) }?.code == .disconnected)
            #expect(try await served.value(Self.level) == [7])
            try await remote.connect()
            await device.dropLink(after: .request, .next(1))
            #expect(await serving.error { try await remote.write([2], to: Self.level) }?.code == .disconnected)
            // It has arrived; the answer is lost.
            #expect(try await served.value(Self.level) == [2])
        }
    }

    func unconfirmedIndications() async throws {
        try await serving.withServed(Self.definition) { host, served, remote in
            var events = await host.events().makeAsyncIterator()
            let values = try await remote.notifications(Self.level)
            try await serving.until(&events) { if case .subscribed = $0 { true } else { false } }
            let device = try #require(await radio.hostedPeripherals.first)
            let unconfirmed = await device.ignore(.confirm)
            let indication = serving.failing { try await served.indicate([9], from: Self.level) }
            await unconfirmed.disturbed()
            await device.dropLink()
            #expect(await indication.value?.code == .disconnected)
            withExtendedLifetime(values) {}
        }
    }
}
