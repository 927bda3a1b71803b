import BLE
import BLESimulation
import BLETestSupport
import Synchronization
import Testing
import Waiting

@testable import BLEFeatures

/// The device's side, with handlers called as a host calls them. The lock's tests cover its behavior with a central.
@Suite(.hangLimit) struct MessagePeripheralTests {
    static let name = MessageCommand(rawValue: 0x0201)
    static let exchange = MessageCommand(rawValue: 0x0103)
    static let one = DeviceID(rawValue: "C0:00:00:00:00:01")
    static let other = DeviceID(rawValue: "C0:00:00:00:00:02")
    static let encryption = MessageEncryption(
        derivation: KeyDerivation(salt: "salt", info: "info"), command: exchange)

    let sent = SharedValue<[[UInt8]]>([])

    /// Subscribes until the task is cancelled. BlueZ before 5.80 does not report which central has subscribed.
    func subscribe(
        _ device: MessagePeripheral, _ central: DeviceID? = nil, clock: any Clock<Duration> = ContinuousClock()
    ) -> Task<Void, any Error> {
        let characteristic = device.service.characteristics[1]
        let notifier = Notifier(clock: clock, central: central) { part in sent.change { $0.append(part) } }
        // As a host does it: the handler's first step comes before the central's next request.
        return Task.immediate { @concurrent in try await characteristic.onSubscribe?(notifier) }
    }

    func write(
        _ frame: [UInt8], to device: MessagePeripheral, from central: DeviceID = one, attMTU: Int? = nil
    ) async throws(ATTError) {
        let characteristic = device.service.characteristics[0]
        try await characteristic.onWrite?(frame, AttributeRequest(central: central, attMTU: attMTU))
    }

    func rejection(_ work: () async throws(ATTError) -> Void) async -> ATTError? {
        do throws(ATTError) { try await work() } catch { return error }
        return nil
    }

    @Test func `requests are answered one at a time, in their order`() async throws {
        let running = SharedValue(0)
        let device = MessagePeripheral { request, _ in
            #expect(
                running.change {
                    $0 += 1; return $0
                } == 1)
            for _ in 0..<10 { await Task.yield() }
            running.change { $0 -= 1 }
            return request.payload
        }
        let session = subscribe(device)
        for number in UInt8(0)..<20 { try await write(try Message(Self.name, payload: [number]).encode(), to: device) }
        await until { sent.value.count >= 20 }
        let numbers = try sent.value.map { try Message(decoding: $0).payload[0] }
        #expect(numbers == Array(0..<20))
        session.cancel()
        _ = await session.result
        #expect(await device.subscribers.isEmpty)
    }

    @Test func `a reply is cut into what fits a packet`() async throws {
        let device = MessagePeripheral { _, _ in [UInt8](repeating: 7, count: 60) }
        let session = subscribe(device)
        let request = try Message(Self.name).encode()
        try await write(request, to: device)
        await until { sent.value.count >= 4 }
        #expect(sent.value.map(\.count) == [20, 20, 20, 5])
        try await write(request, to: device, attMTU: 50)
        await until { sent.value.count >= 6 }
        #expect(sent.value.map(\.count).suffix(2) == [47, 18])
        session.cancel()
    }

    @Test func `if subscribers are not distinguished, one central has the session until it ends`() async throws {
        let device = MessagePeripheral { request, _ in Array("\(request.central)".utf8) }
        let request = try Message(Self.name).encode()
        let first = subscribe(device)
        try await write(request, to: device)
        #expect(
            await rejection { () throws(ATTError) in try await write(request, to: device, from: Self.other) }
                == .insufficientResources)
        first.cancel()
        _ = await first.result
        let second = subscribe(device)
        await until { await !device.subscribers.isEmpty }
        try await write(request, to: device, from: Self.other)
        await until { await device.subscribers == [Self.other] }
        second.cancel()
    }

    @Test(arguments: [nil, other])
    func `a request without a subscription is rejected at once`(_ subscriber: DeviceID?) async throws {
        let device = MessagePeripheral { request, _ in request.payload }
        let request = try Message(Self.name, payload: [1]).encode()
        // Only its answer ends it: no clock runs, and no subscription is made.
        #expect(
            await rejection { () throws(ATTError) in try await write(request, to: device) } == .improperlyConfigured)
        let session = subscribe(device, subscriber)
        // If subscribers are distinguished, the subscription of another central changes nothing.
        let expected: ATTError? = subscriber == nil ? nil : .improperlyConfigured
        #expect(await rejection { () throws(ATTError) in try await write(request, to: device) } == expected)
        session.cancel()
        _ = await session.result
        #expect(
            await rejection { () throws(ATTError) in try await write(request, to: device) } == .improperlyConfigured)
        #expect(await device.problemCount == 0)
    }

    @Test(arguments: [nil, one])
    func `a request right after the subscription is answered`(_ subscriber: DeviceID?) async throws {
        for _ in 0..<200 {
            let device = MessagePeripheral { request, _ in request.payload }
            let count = sent.value.count
            let session = subscribe(device, subscriber)
            try await write(try Message(Self.name, payload: [1]).encode(), to: device)
            await until { sent.value.count >= count + 1 }
            session.cancel()
        }
    }

    @Test func `if subscribers are not distinguished, only a proved exchange claims the session`() async throws {
        let device = MessagePeripheral(
            encryption: Self.encryption, mayPair: { $0 == Self.one }, partLength: 250
        ) { request, _ in request.payload }
        let clock = ManualClock()
        let subscription = subscribe(device, clock: clock)
        // A stranger's requests do not lock the owner out, neither before the owner's exchange nor during it.
        let plain = try Message(Self.name, payload: [7]).encode()
        let strange = try Message(Self.exchange, payload: KeyExchange().request()).encode()
        try await write(plain, to: device, from: Self.other)
        try await write(strange, to: device, from: Self.other)
        await until { await device.problemCount == 1 && sent.value.count == 1 }
        sent.change { $0 = [] }
        var cipher = try await pair(device) { try await write(strange, to: device, from: Self.other) }
        #expect(await device.subscribers == [Self.one])
        #expect(
            await rejection { () throws(ATTError) in try await write(plain, to: device, from: Self.other) }
                == .insufficientResources)
        // An idle claim lets others send requests. They do not take it without a proof.
        clock.advance(by: SessionClaims.idleTime)
        try await write(plain, to: device, from: Self.other)
        await until { sent.value.count >= 3 }
        try await write(try cipher.seal(Message(Self.name, payload: [1])), to: device)
        await until { sent.value.count >= 4 }
        #expect(try cipher.open(sent.value[3]).payload == [1])
        #expect(await device.subscribers == [Self.one])
        subscription.cancel()
    }

    @Test func `without a proof, an idle claim ends with the next request of another central`() async throws {
        let device = MessagePeripheral { request, _ in request.payload }
        let clock = ManualClock()
        let subscription = subscribe(device, clock: clock)
        let request = try Message(Self.name).encode()
        try await write(request, to: device)
        await until { sent.value.count >= 1 }
        clock.advance(by: SessionClaims.idleTime - .milliseconds(1))
        #expect(
            await rejection { () throws(ATTError) in try await write(request, to: device, from: Self.other) }
                == .insufficientResources)
        clock.advance(by: .milliseconds(1))
        try await write(request, to: device, from: Self.other)
        await until { sent.value.count >= 2 }
        #expect(await device.subscribers == [Self.other])
        subscription.cancel()
    }

    @Test func `a notification over a shared subscription is sent once`() async throws {
        let device = MessagePeripheral(encryption: Self.encryption, mayPair: { _ in true }, partLength: 250) { _, _ in
            nil
        }
        let subscription = subscribe(device)
        for central in [Self.one, Self.other] {
            try await write(try Message(Self.name).encode(), to: device, from: central)
        }
        try await device.notify(Self.name, payload: [1])
        try await device.notify(Self.name, payload: [2], isEncrypted: true)
        try await device.notify(Self.name, payload: [3])
        await until { sent.value.count >= 2 }
        #expect(try sent.value.map { try Message(decoding: $0).payload } == [[1], [3]])
        subscription.cancel()
    }

    @Test func `an unanswered request is reported, and the next one is answered`() async throws {
        let device = MessagePeripheral { request, _ in
            guard request.payload.isEmpty else { throw MessageRejection.wrongPayload }
            return [1]
        }
        var problems = await device.problems().makeAsyncIterator()
        let session = subscribe(device)
        try await write([1, 2], to: device)
        try await write(try Message(Self.name, payload: [0]).encode(), to: device)
        try await write(try Message(Self.name, type: .reply).encode(), to: device)
        try await write(
            try Message(Self.name, isEncrypted: true, payload: [UInt8](repeating: 0, count: 40)).encode(), to: device)
        let codes: [BLEError.Code] = [.invalidMessage, .failed, .failed, .encryptionFailed]
        for code in codes {
            let problem = try await problems.next()
            #expect(problem?.code == code)
            #expect(problem?.peripheral == Self.one)
        }
        #expect(await device.problemCount == 4)
        try await write(try Message(Self.name).encode(), to: device)
        await until { sent.value.count >= 1 }
        session.cancel()
    }

    @Test func `what waits when a session ends is not carried out in the next`() async throws {
        let handled = SharedValue<[UInt8]>([])
        let gate = Outcome<Void>()
        let device = MessagePeripheral { request, _ in
            handled.change { $0 += request.payload }
            try? await gate.wait()
            return nil
        }
        let first = subscribe(device)
        for number in UInt8(1)...3 { try await write(try Message(Self.name, payload: [number]).encode(), to: device) }
        await until { handled.value == [1] }
        first.cancel()
        _ = await first.result
        let second = subscribe(device)
        await until { await !device.subscribers.isEmpty }
        try await write(try Message(Self.name, payload: [9]).encode(), to: device, from: Self.other)
        await until { handled.value.contains(9) }
        #expect(handled.value == [1, 9])
        second.cancel()
    }

    @Test func `if subscribers are not distinguished, a session ends with the link of its central`() async throws {
        let handled = SharedValue<[UInt8]>([])
        let steps = SharedValue<[MessagePeripheral.Step]>([])
        let device = MessagePeripheral(onStep: { step in if case .ended = step { steps.change { $0.append(step) } } }) {
            request, _ in
            handled.change { $0 += request.payload }
            // Until the end of the link cancels it.
            if request.payload == [1] { try await Outcome<Void>().wait() }
            return request.payload
        }
        let subscription = subscribe(device)
        for number in UInt8(1)...3 { try await write(try Message(Self.name, payload: [number]).encode(), to: device) }
        await until { handled.value == [1] }
        await device.service.onDisconnect?(Self.other)
        #expect(await device.subscribers == [Self.one])
        await device.service.onDisconnect?(Self.one)
        #expect(await device.subscribers == [nil])
        #expect(steps.value == [.ended(Self.one)])
        try await write(try Message(Self.name, payload: [9]).encode(), to: device, from: Self.other)
        await until { sent.value.count >= 1 }
        #expect(handled.value == [1, 9])
        #expect(await device.subscribers == [Self.other])
        subscription.cancel()
        _ = await subscription.result
        #expect(steps.value == [.ended(Self.one), .ended(Self.other)])
    }

    @Test func `keys end with the link, although the subscription lasts`() async throws {
        let device = MessagePeripheral(encryption: Self.encryption, mayPair: { _ in true }, partLength: 250) {
            request, _ in request.payload
        }
        var problems = await device.problems().makeAsyncIterator()
        let subscription = subscribe(device)
        var cipher = try await pair(device)
        let request = try cipher.seal(Message(Self.name, payload: [1]))
        try await write(request, to: device)
        await until { sent.value.count >= 3 }
        await device.service.onDisconnect?(Self.one)
        let later = try cipher.seal(Message(Self.name, payload: [2]))
        for frame in [request, later] {
            try await write(frame, to: device)
            #expect(try await problems.next()?.code == .encryptionFailed)
        }
        subscription.cancel()
    }

    /// Pairs a central with a device, whose replies fit a part.
    func pair(
        _ device: MessagePeripheral, between: () async throws -> Void = {}
    ) async throws -> MessageCipher {
        let exchange = KeyExchange()
        try await write(try Message(Self.exchange, payload: exchange.request()).encode(), to: device)
        await until { sent.value.count >= 1 }
        try await between()
        let reply = try Message(decoding: sent.value[0]).payload
        var cipher = MessageCipher(
            .bound, role: .central, keys: try exchange.keys(from: reply, derivation: Self.encryption.derivation))
        try await write(try cipher.seal(Message(Self.exchange)), to: device)
        await until { sent.value.count >= 2 }
        _ = try cipher.open(sent.value[1])
        return cipher
    }

    @Test func `a handler that never returns does not keep forgotten keys`() async throws {
        let gate = Outcome<Void>()
        let device = MessagePeripheral(encryption: Self.encryption, mayPair: { _ in true }, partLength: 250) {
            request, _ in
            if request.payload == [1] { try? await gate.wait() }
            return request.payload
        }
        let stuck = subscribe(device, Self.other)
        let session = subscribe(device, Self.one)
        await until { await device.subscribers.count == 2 }
        try await write(try Message(Self.name, payload: [1]).encode(), to: device, from: Self.other)
        var cipher = try await pair(device)
        try await device.forgetPairings()
        var problems = await device.problems().makeAsyncIterator()
        try await write(try cipher.seal(Message(Self.name)), to: device)
        #expect(try await problems.next()?.code == .encryptionFailed)
        stuck.cancel()
        session.cancel()
    }

    @Test func `a device decides which centrals may pair, and a pairing that cannot be stored fails`() async throws {
        let isOpen = SharedValue(false)
        let store = RefusingPairings()
        let device = MessagePeripheral(
            encryption: Self.encryption, pairings: store, mayPair: { _ in isOpen.value }, partLength: 250
        ) { _, _ in [] }
        var problems = await device.problems().makeAsyncIterator()
        let session = subscribe(device)
        let exchange = KeyExchange()
        let request = try Message(Self.exchange, payload: exchange.request()).encode()
        try await write(request, to: device)
        #expect(try await problems.next()?.cause as? MessageRejection == .pairingRefused)
        isOpen.change { $0 = true }
        try await write(request, to: device)
        await until { sent.value.count >= 1 }
        let agreed = try exchange.keys(
            from: try Message(decoding: sent.value[0]).payload, derivation: Self.encryption.derivation)
        var cipher = MessageCipher(.bound, role: .central, keys: agreed)
        try await write(try cipher.seal(Message(Self.exchange)), to: device)
        #expect(try await problems.next()?.code == .storageFailed)
        // The keys are not used: this frame is not opened.
        try await write(try cipher.seal(Message(Self.name)), to: device)
        #expect(try await problems.next()?.code == .encryptionFailed)
        #expect(sent.value.count == 1)
        session.cancel()
    }

    private actor RefusingPairings: PeripheralPairings {
        func keys() -> [MessageKey] { [] }
        func setKeys(_ keys: [MessageKey]) throws(BLEError) { throw BLEError(.storageFailed, "full") }
    }

    @Test func `an exchange in progress does not outlast the forgetting of pairings`() async throws {
        let device = MessagePeripheral(encryption: Self.encryption, mayPair: { _ in true }, partLength: 250) { _, _ in
            []
        }
        var problems = await device.problems().makeAsyncIterator()
        let session = subscribe(device)
        let exchange = KeyExchange()
        try await write(try Message(Self.exchange, payload: exchange.request()).encode(), to: device)
        await until { sent.value.count >= 1 }
        let agreed = try exchange.keys(
            from: try Message(decoding: sent.value[0]).payload, derivation: Self.encryption.derivation)
        try await device.forgetPairings()
        var cipher = MessageCipher(.bound, role: .central, keys: agreed)
        try await write(try cipher.seal(Message(Self.exchange)), to: device)
        #expect(try await problems.next()?.code == .encryptionFailed)
        session.cancel()
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `a full storage refuses a pairing, and keeps those that it has`(_ mode: MessageCipher.Mode) async throws {
        let keys = (0..<MessagePeripheral.maximumPairings).compactMap { number in
            MessageKey([UInt8](repeating: UInt8(number), count: MessageKey.size))
        }
        let pairings = MemoryPeripheralPairings(keys)
        let encryption = MessageEncryption(
            mode: mode, derivation: Self.encryption.derivation, command: Self.exchange)
        let device = MessagePeripheral(
            encryption: encryption, pairings: pairings,
            mayPair: { _ in
                Issue.record("there is no room")
                return true
            }, partLength: 250
        ) { _, _ in nil }
        var problems = await device.problems().makeAsyncIterator()
        let session = subscribe(device, Self.one)
        try await write(try Message(Self.exchange, payload: KeyExchange().request()).encode(), to: device)
        #expect(try await problems.next()?.cause as? MessageRejection == .tooManyPairings)
        #expect(await pairings.keys() == keys)
        #expect(sent.value.isEmpty)
        try await device.forgetPairings()
        #expect(await pairings.keys().isEmpty)
        session.cancel()
    }

    @Test func `pairings at the same time fill the storage, and evict none`() async throws {
        let keys = (0..<3).compactMap { number in
            MessageKey([UInt8](repeating: UInt8(number), count: MessageKey.size))
        }
        let storage = MemoryPeripheralPairings([keys[0]])
        let store = PairingStore(storage)
        try await store.remember(keys[1], limit: 2)
        await #expect(throws: MessageRejection.tooManyPairings) { try await store.remember(keys[2], limit: 2) }
        try await store.remember(keys[0], limit: 2)
        #expect(await storage.keys() == [keys[0], keys[1]])
    }

    @Test func `in firmware mode, the pairing of another central replaces none`() throws {
        let keys = (1...3).compactMap { MessageKey([UInt8](repeating: $0, count: MessageKey.size)) }
        let encryption = MessageEncryption(
            mode: .firmware, derivation: Self.encryption.derivation, command: Self.exchange)
        for key in keys {
            var device = PeripheralLinkKeys(encryption, pairings: keys)
            var central = MessageCipher(.firmware, role: .central, key: key)
            let request = try central.seal(Message(Self.name, payload: [1]))
            #expect(try device.decode(request).payload == [1])
            let reply = try device.encode(Message(Self.name, type: .reply, isEncrypted: true, payload: [2]))
            #expect(try central.open(reply).payload == [2])
            // From then on, the link is that central's.
            #expect(throws: MessageError.replayed) { try device.decode(request) }
            for other in keys where other != key {
                var stranger = MessageCipher(.firmware, role: .central, key: other)
                let frame = try stranger.seal(Message(Self.name))
                #expect(throws: MessageError.authenticationFailed) { try device.decode(frame) }
            }
        }
    }
}
