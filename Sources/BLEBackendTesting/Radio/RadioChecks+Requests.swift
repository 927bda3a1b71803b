import BLE
import BLEProfiles
import BLESimulation
import Synchronization
import Testing

extension RadioChecks {
    func delayedRequests() async throws {
        try await forEachRequest { request, strap in
            await device.delay(request.event, .next(1), by: Self.delay)
            await takesDelay { try await request.perform(strap, nil) }
            #expect(await peer.strap.written == request.written)
        }
    }

    func failingRequests() async throws {
        try await forEachRequest { request, strap in
            let fault = await device.fail(request.event, .next(2), with: .insufficientResources)
            for count in 1...2 {
                let error = await contract.error { try await request.perform(strap, nil) }
                #expect(error?.code == .attributeError)
                #expect(error?.attError == .insufficientResources)
                #expect(await fault.count == count)
                #expect(await peer.strap.written == [])
            }
            try await request.perform(strap, nil)
            try await peer.until(subscribers: 0)
            // A backend may repeat a request whose error may mean something else.
            await device.fail(request.event)
            #expect(await contract.error { try await request.perform(strap, nil) }?.attError == .unlikelyError)
            await device.removeFaults()
            await device.fail(request.event, .next(1), with: .insufficientAuthorization)
            #expect(
                await contract.error { try await request.perform(strap, nil) }?.attError == .insufficientAuthorization)
        }
    }

    func releasedRequests() async throws {
        try await forEachRequest { request, strap in
            let held = await device.hold(request.event)
            let task = contract.failing { try await request.perform(strap, nil) }
            await held.disturbed()
            #expect(await peer.strap.written == [])
            await held.release()
            #expect(await task.value == nil)
            #expect(await peer.strap.written == request.written)
        }
    }

    func heldRequests(end: (Central) async throws -> Void) async throws {
        try await forEachRequest { request, strap in
            let held = await device.hold(request.event)
            let task = contract.failing { try await request.perform(strap, nil) }
            await held.disturbed()
            try await end(strap.central)
            #expect(await task.value?.code == .disconnected)
            #expect(await peer.strap.written == [])
        }
    }

    func cancelledRequests() async throws {
        try await forEachRequest { request, strap in
            let held = await device.hold(request.event)
            let task = contract.failing { try await request.perform(strap, nil) }
            await held.disturbed()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            #expect(await strap.connectionState == .connected)
        }
    }

    func unansweredRequests() async throws {
        try await forEachRequest { request, strap in
            await device.ignore(request.event, .next(1))
            #expect(await contract.error { try await request.perform(strap, Self.deadline) }?.code == .timedOut)
            #expect(await peer.strap.written == [])
        }
    }

    func lostRequests() async throws {
        try await forEachRequest { request, strap in
            await device.dropLink(before: request.event, .next(1))
            #expect(await contract.error { try await request.perform(strap, nil) }?.code == .disconnected)
            #expect(await peer.strap.written == [])
            #expect(await device.isConnected == false)
        }
    }

    func lostAnswers() async throws {
        try await forEachRequest { request, strap in
            await device.dropLink(after: request.event, .next(1))
            #expect(await contract.error { try await request.perform(strap, nil) }?.code == .disconnected)
            #expect(await peer.strap.written == request.written)
            #expect(await device.isConnected == false)
        }
    }

    /// A write without response has no answer, so it is lost silently.
    func lostCommands() async throws {
        try await contract.withStrap { strap in
            await device.fail(.write(of: EchoStrap.input), .nth(1))
            await device.ignore(.write(of: EchoStrap.input), .nth(2))
            for number in 1...2 as ClosedRange<UInt8> {
                try await strap.write([number], to: EchoStrap.input, type: .withoutResponse)
                // Its answer comes after the command.
                _ = try await strap.read(EchoStrap.twin)
                #expect(await peer.strap.written == [])
            }
            await device.delay(.write(of: EchoStrap.input), .nth(1), by: Self.delay)
            let delayed = contract.failing {
                try await strap.write([3], to: EchoStrap.input, type: .withoutResponse)
            }
            await clock.sleepers(for: Self.delay)
            #expect(await peer.strap.written == [])
            clock.advance(by: Self.delay)
            #expect(await delayed.value == nil)
            while await peer.strap.written != [3] { await Task.yield() }
        }
    }

    func signalStrength() async throws {
        try await contract.withStrap { strap in
            await device.setSignalStrength(-60)
            let fault = await device.fail(.signalStrength, .next(1))
            let error = await contract.error { _ = try await strap.signalStrength() }
            guard facts.measuresLinks else {
                #expect(error?.code == .notSupported)
                #expect(await fault.count == 0)
                return
            }
            #expect(error?.code == .failed)
            await device.delay(.signalStrength, .next(1), by: Self.delay)
            await takesDelay {
                let strength = try await strap.signalStrength()
                #expect(strength == -60)
            }
            await device.dropLink(before: .signalStrength, .next(1))
            #expect(await contract.error { _ = try await strap.signalStrength() }?.code == .disconnected)
        }
    }

    // MARK: Occurrences

    /// Whether each of some reads fails.
    private func failures(_ count: Int, _ strap: Peripheral) async -> [Bool] {
        var failures: [Bool] = []
        for _ in 0..<count { failures.append((try? await strap.read(EchoStrap.twin)) == nil) }
        return failures
    }

    func nthRequest() async throws {
        try await contract.withStrap { strap in
            await device.fail(.read, .nth(2), with: .insufficientResources)
            #expect(await failures(3, strap) == [false, true, false])
        }
    }

    func seeds() async throws {
        try await contract.withStrap { strap in
            func failures(_ seed: UInt64) async -> [Bool] {
                await device.removeFaults()
                await device.fail(.read, .probability(0.5, seed: seed), with: .insufficientResources)
                return await self.failures(64, strap)
            }
            let first = await failures(3)
            #expect(await failures(3) == first)
            #expect(await failures(4) != first)
            #expect(first.contains(true) && first.contains(false))
        }
    }

    func condition() async throws {
        try await contract.withStrap { strap in
            let isWet = Mutex(true)
            await device.fail(.read, .while { isWet.withLock(\.self) }, with: .insufficientResources)
            #expect(await failures(1, strap) == [true])
            isWet.withLock { $0 = false }
            #expect(await failures(1, strap) == [false])
            isWet.withLock { $0 = true }
            #expect(await failures(1, strap) == [true])
        }
    }

    func severalFaults() async throws {
        try await contract.withStrap { strap in
            await device.delay(.read, .next(1), by: Self.delay)
            // Those of the radio concern every peripheral.
            await radio.fail(.read, .next(1), with: .insufficientResources)
            await takesDelay {
                #expect(
                    await contract.error { _ = try await strap.read(EchoStrap.twin) }?.attError
                        == .insufficientResources)
            }
            #expect(await failures(1, strap) == [false])
            await radio.fail(.read)
            await device.fail(.write)
            await radio.removeFaults()
            #expect(await failures(1, strap) == [false])
            try await strap.write([1], to: EchoStrap.input)
        }
    }

    func otherCharacteristics() async throws {
        try await contract.withStrap { strap in
            let fault = await device.fail(.read(of: EchoStrap.twin), .next(2), with: .insufficientResources)
            for _ in 1...3 {
                _ = try await Battery(strap).level()
                _ = try await strap.read(EchoStrap.output)
                _ = try await strap.readDescriptor(BluetoothUUID(0x2901), of: EchoStrap.output.key)
            }
            #expect(await fault.count == 0)
            #expect(await failures(3, strap) == [true, true, false])
            #expect(await fault.count == 2)
        }
    }
}
