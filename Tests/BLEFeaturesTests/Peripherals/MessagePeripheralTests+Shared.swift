import BLE
import BLESimulation
import BLETestSupport
import Testing
import Waiting

@testable import BLEFeatures

/// Centrals that the system does not distinguish, and simultaneous exchanges.
extension MessagePeripheralTests {
    private func guest(_ number: Int) -> DeviceID { DeviceID(rawValue: "C0:00:00:00:01:0\(number)") }

    private func device(
        _ pairings: [MessageKey] = [], mayPair: @escaping @Sendable (DeviceID) async -> Bool = { _ in true }
    ) -> MessagePeripheral {
        MessagePeripheral(
            encryption: Self.encryption, pairings: MemoryPeripheralPairings(pairings), mayPair: mayPair, partLength: 250
        ) { request, _ in request.payload }
    }

    /// Sends the first message of an exchange. Returns the central's cipher after the reply.
    private func begin(
        _ device: MessagePeripheral, from central: DeviceID, resuming key: MessageKey? = nil
    ) async throws -> MessageCipher {
        let (exchange, count) = (KeyExchange(), sent.value.count)
        let request = exchange.request(resuming: key)
        try await write(try Message(Self.exchange, payload: request).encode(), to: device, from: central)
        await until { sent.value.count >= count + 1 }
        let reply = try Message(decoding: sent.value[count]).payload
        let keys = try exchange.keys(from: reply, resuming: key, derivation: Self.encryption.derivation)
        return MessageCipher(.bound, role: .central, keys: keys)
    }

    @Test(arguments: [nil, one])
    func `only the central that asks gets the answer that a pairing is unknown`(_ subscriber: DeviceID?)
        async throws
    {
        let device = device()
        var problems = await device.problems().makeAsyncIterator()
        let subscription = subscribe(device, subscriber)
        let unknown = try #require(MessageKey([UInt8](repeating: 1, count: MessageKey.size)))
        let request = KeyExchange().request(resuming: unknown)
        try await write(try Message(Self.exchange, payload: request).encode(), to: device)
        if subscriber == nil {
            #expect(try await problems.next()?.cause as? MessageError == .keyUnknownToDevice)
            #expect(sent.value.isEmpty)
        } else {
            await until { sent.value.count >= 1 }
            #expect(try Message(decoding: sent.value[0]).payload.isEmpty)
        }
        subscription.cancel()
    }

    @Test func `guests that are never idle do not keep out a central that has paired`() async throws {
        let key = try #require(MessageKey([UInt8](repeating: 1, count: MessageKey.size)))
        let device = device([key])
        let subscription = subscribe(device, clock: ManualClock())
        let plain = try Message(Self.name).encode()
        for number in 0..<SessionClaims.maximumGuests { try await write(plain, to: device, from: guest(number)) }
        await until { sent.value.count >= SessionClaims.maximumGuests }
        let strange = try Message(Self.exchange, payload: KeyExchange().request()).encode()
        for frame in [plain, strange] {
            #expect(
                await rejection { () throws(ATTError) in try await write(frame, to: device) } == .insufficientResources)
        }
        var cipher = try await begin(device, from: Self.one, resuming: key)
        try await write(try cipher.seal(Message(Self.exchange)), to: device)
        await until { await device.subscribers == [Self.one] }
        subscription.cancel()
    }

    @Test func `the second of two proofs does not take the session from the first`() async throws {
        let keys = (1...2).compactMap { MessageKey([UInt8](repeating: $0, count: MessageKey.size)) }
        let (gate, held) = (Outcome<Void>(), SharedValue(false))
        let storage = GatedPairings(keys, gate, held)
        let device = MessagePeripheral(
            encryption: Self.encryption, pairings: storage, mayPair: { _ in false }, partLength: 250
        ) { _, _ in nil }
        var problems = await device.problems().makeAsyncIterator()
        let subscription = subscribe(device, clock: ManualClock())
        var first = try await begin(device, from: Self.one, resuming: keys[0])
        var second = try await begin(device, from: Self.other, resuming: keys[1])
        // Both proofs arrive before either pairing is stored.
        held.change { $0 = true }
        try await write(try first.seal(Message(Self.exchange)), to: device, from: Self.one)
        await until { await device.subscribers == [Self.one] || storage.waiting.value > 0 }
        let refused = await rejection { () throws(ATTError) in
            try await write((try? second.seal(Message(Self.exchange))) ?? [], to: device, from: Self.other)
        }
        gate.deliver(.success(()))
        if refused == nil {
            #expect(try await problems.next()?.cause as? MessageRejection == .sessionClaimed)
        } else {
            #expect(refused == .insufficientResources)
        }
        await until { sent.value.count >= 3 }
        #expect(await device.subscribers == [Self.one])
        subscription.cancel()
    }

    /// Waits for a gate while it is held.
    private struct GatedPairings: PeripheralPairings {
        private let stored: [MessageKey]
        private let gate: Outcome<Void>
        private let held: SharedValue<Bool>
        let waiting = SharedValue(0)

        init(_ stored: [MessageKey], _ gate: Outcome<Void>, _ held: SharedValue<Bool>) {
            (self.stored, self.gate, self.held) = (stored, gate, held)
        }

        func keys() async throws(BLEError) -> [MessageKey] {
            guard held.value else { return stored }
            waiting.change { $0 += 1 }
            try await gate.wait()
            return stored
        }

        func setKeys(_ keys: [MessageKey]) {}
    }

    @Test func `the permission to pair ends after a time`() async throws {
        let device = device()
        var problems = await device.problems().makeAsyncIterator()
        let clock = ManualClock()
        let subscription = subscribe(device, Self.one, clock: clock)
        var late = try await begin(device, from: Self.one)
        clock.advance(by: PeripheralLinkKeys.pairingTime)
        try await write(try late.seal(Message(Self.exchange)), to: device)
        #expect(try await problems.next()?.cause as? MessageError == .missingKey)
        #expect(try await device.pairings.keys().isEmpty)
        var cipher = try await begin(device, from: Self.one)
        clock.advance(by: PeripheralLinkKeys.pairingTime - .milliseconds(1))
        try await write(try cipher.seal(Message(Self.exchange)), to: device)
        await until { sent.value.count >= 3 }
        #expect(try await device.pairings.keys().count == 1)
        subscription.cancel()
    }

    @Test func `the permission to pair is for one pairing, and earlier pairings need none`() async throws {
        let key = try #require(MessageKey([UInt8](repeating: 1, count: MessageKey.size)))
        let device = device([key])
        var problems = await device.problems().makeAsyncIterator()
        let centrals = [Self.one, Self.other, guest(1)]
        let subscriptions = centrals.map { subscribe(device, $0) }
        var stranger = try await begin(device, from: Self.other)
        var known = try await begin(device, from: guest(1), resuming: key)
        var owner = try await begin(device, from: Self.one)
        try await write(try owner.seal(Message(Self.exchange)), to: device)
        await until { sent.value.count >= 4 }
        try await write(try stranger.seal(Message(Self.exchange)), to: device, from: Self.other)
        #expect(try await problems.next()?.cause as? MessageError == .missingKey)
        #expect(try await device.pairings.keys().count == 2)
        try await write(try known.seal(Message(Self.exchange)), to: device, from: guest(1))
        await until { sent.value.count >= 5 }
        for subscription in subscriptions { subscription.cancel() }
    }

    @Test func `a proof that came too late keeps no permission to pair`() async throws {
        let key = try #require(MessageKey([UInt8](repeating: 1, count: MessageKey.size)))
        let (gate, held) = (Outcome<Void>(), SharedValue(false))
        let device = MessagePeripheral(
            encryption: Self.encryption, pairings: MemoryPeripheralPairings([key]), mayPair: { _ in true },
            partLength: 250
        ) { _, _ in
            held.change { $0 = true }
            try await gate.wait()
            return nil
        }
        var problems = await device.problems().makeAsyncIterator()
        let subscription = subscribe(device, clock: ManualClock())
        let (stranger, known) = (Self.other, guest(1))
        var strange = try await begin(device, from: stranger)
        var owner = try await begin(device, from: Self.one)
        var resumed = try await begin(device, from: known, resuming: key)
        // The stranger's proof waits behind its request, and another central's is first.
        try await write(try Message(Self.name).encode(), to: device, from: stranger)
        try await held.until { $0 }
        try await write(try strange.seal(Message(Self.exchange)), to: device, from: stranger)
        try await write(try resumed.seal(Message(Self.exchange)), to: device, from: known)
        await until { await device.subscribers == [known] && sent.value.count == 4 }
        gate.deliver(.success(()))
        #expect(try await problems.next()?.cause as? MessageRejection == .sessionClaimed)
        await device.service.onDisconnect?(known)
        try await write(try owner.seal(Message(Self.exchange)), to: device, from: Self.one)
        await until { await device.subscribers == [Self.one] && sent.value.count == 5 }
        #expect(try await device.pairings.keys().count == 2)
        // The permission was for one pairing.
        await device.service.onDisconnect?(Self.one)
        try await write(try strange.seal(Message(Self.exchange)), to: device, from: stranger)
        #expect(try await problems.next()?.cause as? MessageError == .missingKey)
        #expect(try await device.pairings.keys().count == 2)
        subscription.cancel()
    }

    @Test func `over a shared subscription, a frame that was begun is sent to its end`() async throws {
        let (gate, held) = (Outcome<Void>(), SharedValue(false))
        let device = MessagePeripheral(
            partLength: 20,
            onStep: { step in
                guard case .sendingPart = step, !held.value else { return }
                held.change { $0 = true }
                try? await gate.wait()
            }
        ) { _, _ in [UInt8](repeating: 7, count: 60) }
        let subscription = subscribe(device)
        let request = try Message(Self.name).encode()
        try await write(request, to: device)
        await until { held.value }
        await device.service.onDisconnect?(Self.one)
        try await write(request, to: device, from: Self.other)
        gate.deliver(.success(()))
        await until { sent.value.count >= 8 }
        var frames = 0
        var reassembler = MessageReassembler()
        for part in sent.value { try reassembler.append(part.span) { _ in frames += 1 } }
        #expect(frames == 2)
        subscription.cancel()
    }

    @Test func `a subscription of its own ends a central's claim on the shared one`() async throws {
        let device = MessagePeripheral { request, _ in request.payload }
        let shared = subscribe(device)
        let request = try Message(Self.name).encode()
        try await write(request, to: device)
        #expect(await device.subscribers == [Self.one])
        let own = subscribe(device, Self.one)
        await until { await device.subscribers.count == 2 }
        #expect(await Set(device.subscribers) == [Self.one, nil])
        try await write(request, to: device, from: Self.other)
        await until { await Set(device.subscribers) == [Self.one, Self.other] }
        for subscription in [shared, own] { subscription.cancel() }
    }
}
