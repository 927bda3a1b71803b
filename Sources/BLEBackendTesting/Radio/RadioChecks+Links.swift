import BLE
import BLESimulation
import Testing

/// Attempts to connect, the end of links, and pairings.
extension RadioChecks {
    /// Runs a check with the strap, which has no link.
    private func withFound(_ check: (Peripheral) async throws -> Void) async throws {
        try await contract.withCentral { central in try await check(contract.find(central).peripheral) }
    }

    private func until(connections count: Int) async throws { try await peer.until(connections: count) }

    func delayedAttempts() async throws {
        try await withFound { strap in
            for event in [SimulatedEvent.connect, .discover] {
                await device.delay(event, .next(1), by: Self.delay)
                await takesDelay { try await strap.connect() }
                #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
                try await strap.disconnect()
            }
        }
    }

    func failingAttempts() async throws {
        try await withFound { strap in
            let fault = await device.fail(.connect)
            #expect(await contract.error { try await strap.connect() }?.code == .connectionFailed)
            #expect(await fault.count > 0)
            #expect(await device.isConnected == false)
            await device.removeFaults()
            let once = await device.fail(.connect, .next(1))
            let error = await contract.failing { try await strap.connect() }.value
            #expect(error?.code == (facts.repeatsAttempts ? nil : .connectionFailed))
            #expect(await once.count == 1)
            try await strap.connect()
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
        }
    }

    func releasedAttempts() async throws {
        try await withFound { strap in
            for event in [SimulatedEvent.connect, .discover] {
                let held = await device.hold(event)
                let attempt = contract.failing { try await strap.connect() }
                await held.disturbed()
                #expect(await strap.connectionState == .connecting)
                await held.release()
                #expect(await attempt.value == nil)
                #expect(await strap.connectionState == .connected)
                try await strap.disconnect()
            }
        }
    }

    func heldAttempts() async throws {
        try await withFound { strap in
            for event in [SimulatedEvent.connect, .discover] {
                let held = await device.hold(event)
                let attempt = contract.failing { try await strap.connect() }
                await held.disturbed()
                try await strap.disconnect()
                #expect(await attempt.value?.code == .connectionCancelled)
                try await until(connections: 0)
                let next = contract.failing { try await strap.connect() }
                await held.disturbed(2)
                try await setPowered(false, strap.central)
                #expect([.poweredOff, .disconnected].contains(await next.value?.code))
                try await setPowered(true, strap.central)
                await device.removeFaults()
                try await strap.connect()
                try await strap.disconnect()
            }
        }
    }

    func unansweredAttempts() async throws {
        try await withFound { strap in
            for event in [SimulatedEvent.connect, .discover] {
                await device.ignore(event)
                #expect(await contract.error { try await strap.connect(timeout: Self.deadline) }?.code == .timedOut)
                try await contract.until(.disconnected, strap)
                try await until(connections: 0)
                await device.removeFaults()
                try await strap.connect()
                try await strap.disconnect()
            }
        }
    }

    func lostAttempts() async throws {
        try await withFound { strap in
            for (isBefore, code) in [(true, facts.preventedAttempt), (false, facts.lostAttempt)] {
                func add(_ occurrence: SimulatedOccurrence) async -> SimulatedFault {
                    isBefore
                        ? await device.dropLink(before: .connect, occurrence)
                        : await device.dropLink(after: .connect, occurrence)
                }
                let always = await add(.always)
                #expect(await contract.error { try await strap.connect() }?.code == code)
                #expect(await always.count > 0)
                try await until(connections: 0)
                await always.release()
                let once = await add(.next(1))
                let error = await contract.failing { try await strap.connect() }.value
                #expect(error?.code == (isBefore && facts.repeatsAttempts ? nil : code))
                #expect(await once.count == 1)
                try await strap.connect()
                try await strap.disconnect()
            }
            // The link is lost while the services are discovered.
            for isBefore in [true, false] {
                let lost =
                    isBefore
                    ? await device.dropLink(before: .discover, .next(1))
                    : await device.dropLink(after: .discover, .next(1))
                #expect(await contract.error { try await strap.connect() }?.code == .disconnected)
                #expect(await lost.count == 1)
                try await until(connections: 0)
            }
        }
    }

    func failingDiscovery() async throws {
        try await withFound { strap in
            let fault = await device.fail(.discover, .next(1))
            let error = await contract.failing { try await strap.connect() }.value
            #expect(error?.code == facts.failedDiscovery)
            #expect(await fault.count == 1)
            if error == nil {
                #expect(try await strap.services().isEmpty)
                try await strap.disconnect()
            }
            try await until(connections: 0)
            try await strap.connect()
            #expect(try await strap.read(EchoStrap.twin) == Array("first".utf8))
        }
    }

    func disconnects() async throws {
        try await contract.withStrap { strap in
            try await clock.expectHold(of: .disconnect, device) { contract.failing { try await strap.disconnect() } }
            #expect(await device.isConnected == false)

            try await strap.connect()
            await device.delay(.disconnect, .next(1), by: Self.delay)
            await takesDelay { try await strap.disconnect() }

            try await strap.connect()
            let refused = await device.fail(.disconnect, .next(1))
            let second = contract.failing { try await strap.disconnect() }
            await refused.disturbed()
            if let code = facts.failedDisconnection {
                #expect(await second.value?.code == code)
                #expect(await device.isConnected)
            } else {
                #expect(await device.isConnected)
                await device.dropLink()
                #expect(await second.value == nil)
            }
        }
    }

    // MARK: Pairing

    func pairings() async throws {
        try await contract.withStrap { strap in
            await device.fail(.pair, .next(1))
            #expect(await contract.error { try await strap.pair() }?.code == .pairingFailed)
            #expect(await device.isPaired == false)
            // A stack may end the link with the failure.
            try await strap.connect()
            await device.delay(.pair, .next(1), by: Self.delay)
            await takesDelay { try await strap.pair() }
            #expect(await device.isPaired)
            try await strap.unpair()
            try await strap.connect()
            let held = await device.hold(.pair)
            let pairing = contract.failing { try await strap.pair() }
            await held.disturbed()
            #expect(await device.isPaired == false)
            await held.release()
            #expect(await pairing.value == nil)
            #expect(await device.isPaired)
        }
    }

    func endedPairings() async throws {
        try await contract.withStrap { strap in
            let held = await device.hold(.pair, .next(1))
            let pairing = contract.failing { try await strap.pair() }
            await held.disturbed()
            await device.dropLink()
            #expect(await pairing.value?.code == .disconnected)
            #expect(await device.isPaired == false)

            try await strap.connect()
            await device.dropLink(before: .pair, .next(1))
            #expect(await contract.error { try await strap.pair() }?.code == .disconnected)
            #expect(await device.isPaired == false)

            try await strap.connect()
            await device.ignore(.pair, .next(1))
            #expect(await contract.error { try await strap.pair(timeout: Self.deadline) }?.code == .timedOut)
            #expect(await device.isPaired == false)

            try await strap.connect()
            await device.dropLink(after: .pair, .next(1))
            // A stack may know of the pairing before the link ends.
            let error = await contract.failing { try await strap.pair() }.value
            #expect([nil, .disconnected].contains(error?.code))
            #expect(await device.isPaired)
            try await until(connections: 0)
        }
    }
}
