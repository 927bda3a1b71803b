import BLE
import BLESimulation
import Testing

/// Scans and advertisements.
extension RadioChecks {
    private static let interval = Duration.milliseconds(20)

    /// Starts to look for the strap, once no earlier scan runs. The task throws if the scan fails.
    private func search(_ central: Central) async -> Task<BLEError?, Never> {
        await untilSilent()
        return contract.failing { _ = try await contract.find(central) }
    }

    func failingScans() async throws {
        try await contract.withCentral { central in
            let fault = await radio.fail(.scan, .next(1))
            #expect(await search(central).value?.code == .scanFailed)
            #expect(await fault.count == 1)
            #expect(await search(central).value == nil)
            await radio.dropLink(before: .scan, .next(1))
            #expect(await search(central).value?.code == facts.preventedScan)
            #expect(await search(central).value == nil)
        }
    }

    func heldScans() async throws {
        try await contract.withCentral { central in
            await radio.delay(.scan, .next(1), by: Self.delay)
            await takesDelay { _ = try await contract.find(central) }

            await untilSilent()
            try await clock.expectHold(of: .scan, radio) { await search(central) }

            // A scan that ends while it is held does not begin.
            await untilSilent()
            let ended = await radio.hold(.scan)
            let cancelled = await search(central)
            await ended.disturbed()
            cancelled.cancel()
            await ended.release()
            _ = await cancelled.value
            _ = try await central.adapters()
            for _ in 0..<200 { await Task.yield() }
            await untilSilent()
            #expect(await search(central).value == nil)
        }
    }

    func unansweredScan() async throws {
        try await contract.withCentral { central in
            await radio.ignore(.scan, .next(1))
            let found = await search(central)
            // What the system waits for an answer.
            await clock.expectSleep(for: .seconds(25), before: found)
            clock.advance(by: .seconds(25))
            #expect(await found.value?.code == (facts.tellsSilence ? .timedOut : .scanFailed))
            #expect(await search(central).value == nil)
        }
    }

    func lostAdvertisements() async throws {
        try await contract.withCentral { central in
            let lost = [
                await device.ignore(.advertisement, .nth(1)), await device.fail(.advertisement, .nth(2)),
                await device.dropLink(before: .advertisement, .nth(3)),
            ]
            await untilSilent()
            // The strengths of those that arrive, up to the fourth.
            let arrived = Task {
                var strengths: [Int?] = []
                for try await event in central.discoveryEvents(duplicates: true, tolerance: .zero) {
                    guard case .found(let found) = event.asReport else { continue }
                    strengths.append(found.advertisement.rssi)
                    if found.advertisement.rssi == -57 { break }
                }
                return strengths
            }
            for (number, fault) in lost.enumerated() {
                await fault.disturbed()
                await clock.sleepers(for: Self.interval)
                if number == lost.count - 1 { try await peer.setStrength(-57) }
                clock.advance(by: Self.interval)
            }
            #expect(try await arrived.value == [-57])

            // Of one strength, there are those that arrive before another is set.
            await untilSilent()
            var events = central.discoveryEvents(duplicates: true, tolerance: .zero).makeAsyncIterator()
            func count(until strength: Int) async throws -> Int {
                var count = 0
                while let event = try await events.next() {
                    guard case .found(let found) = event.asReport else { continue }
                    if found.advertisement.rssi == strength { return count }
                    count += 1
                }
                return count
            }
            try await peer.setStrength(-51)
            _ = try await count(until: -51)
            let doubled = await device.duplicate(.advertisement, .next(1))
            await clock.sleepers(for: Self.interval)
            clock.advance(by: Self.interval)
            await doubled.disturbed()
            try await peer.setStrength(-52)
            #expect(try await count(until: -52) == 2)
            #expect(await doubled.count == 1)
        }
    }

    func heldAdvertisements() async throws {
        try await contract.withCentral { central in
            await device.delay(.advertisement, .next(1), by: Self.delay)
            await takesDelay { _ = try await contract.find(central) }
            await untilSilent()
            try await clock.expectHold(of: .advertisement, device) { await search(central) }
        }
    }
}
