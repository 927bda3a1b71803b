import BLE
import BLESimulation
import BLETestSupport
import Testing
import Waiting

@testable import BLEFeatures

/// Requests that a device rejects, and tells so.
@Suite(.hangLimit) struct RejectionTests {
    private static let name = MessageCommand(rawValue: 0x0201)
    private static let other = MessageCommand(rawValue: 0x0202)
    private static let rejections = MessageCommand(rawValue: 0x0F01)
    private static let encryption = MessageEncryption(
        derivation: KeyDerivation(salt: "salt", info: "info"), command: MessageCommand(rawValue: 0x0103))

    private struct Broken: Error {}

    private let world: SimulatedWorld
    private let mayPair = SharedValue(true)

    init() async throws { world = try await SimulatedWorld() }

    private func kind(
        _ encryption: MessageEncryption? = nil, rejections: MessageCommand? = Self.rejections
    ) throws -> Devices.Configuration {
        try Devices.Configuration(features: [], encryption: encryption, rejections: rejections)
    }

    /// A device in the world, and a session with it. Time does not pass unless a test moves it.
    private func start(
        _ encryption: MessageEncryption? = nil, central: Devices.Configuration? = nil,
        _ answer: @escaping @Sendable (MessageRequest) async throws -> [UInt8]?
    ) async throws -> (device: MessagePeripheral, session: MessageSession) {
        let device = MessagePeripheral(
            try kind(encryption), mayPair: { [mayPair] _ in mayPair.value },
            onRequest: { request, _ in try await answer(request) })
        let added = try await world.add(device.definition(name: "Bell", serial: [1, 2, 3, 4, 5, 6]))
        let session = MessageSession(added.peripheral, kind: try central ?? kind(encryption), serial: "010203040506")
        return (device, session)
    }

    private func rejection(
        _ session: MessageSession, _ message: Message = Message(name)
    ) async -> MessageRejection? {
        let error = await expectError(.messageRejected) { _ = try await session.send(message) }
        #expect(error?.mayHaveReachedPeripheral == true)
        return error?.cause as? MessageRejection
    }

    @Test func `a rejection ends the request at once, with its reason`() async throws {
        let reason = SharedValue<any Error>(MessageRejection.unknownCommand)
        let (device, session) = try await start { _ in throw reason.value }
        let product = MessageRejection.product(try #require(MessageRejection.ProductCode(rawValue: 0x92)))
        for expected in [MessageRejection.unknownCommand, .wrongPayload, product] {
            reason.change { $0 = expected }
            #expect(await rejection(session) == expected)
        }
        reason.change { $0 = Broken() }
        #expect(await rejection(session) == .failed)
        #expect(await session.counters.rejections == 4)
        #expect(await session.counters.malformed == 0)
        #expect(await device.problemCount == 4)
    }

    @Test func `the next request is answered, and one of another command is not affected`() async throws {
        let (_, session) = try await start { request in
            guard request.payload.isEmpty else { throw MessageRejection.wrongPayload }
            return Array("Bell".utf8)
        }
        async let other = session.send(Message(Self.other))
        #expect(await rejection(session, Message(Self.name, payload: [1])) == .wrongPayload)
        #expect(try await other.payload == Array("Bell".utf8))
        #expect(try await session.send(Message(Self.name)).payload == Array("Bell".utf8))
    }

    @Test func `an encrypted request is rejected in an encrypted message`() async throws {
        let frames = SharedValue<[[UInt8]]>([])
        let device = MessagePeripheral(
            try kind(Self.encryption), mayPair: { _ in true },
            onStep: { step in
                if case .sending(let frame) = step { frames.change { $0.append(frame) } }
            }, onRequest: { _, _ in throw MessageRejection.wrongPayload })
        let added = try await world.add(device.definition(name: "Bell", serial: [1, 2, 3, 4, 5, 6]))
        let session = MessageSession(added.peripheral, kind: try kind(Self.encryption), serial: "010203040506")
        try await session.pair()
        #expect(await rejection(session, Message(Self.name, isEncrypted: true)) == .wrongPayload)
        let frame = try #require(frames.value.last)
        let header = try MessageHeader(decoding: frame.span)
        #expect(header.command == Self.rejections)
        #expect(header.isEncrypted)
    }

    @Test func `an encrypted request is not ended by an unencrypted rejection`() async throws {
        let asked = SharedValue(0)
        let gate = Outcome<Void>()
        let (device, session) = try await start(Self.encryption) { _ in
            asked.change { $0 += 1 }
            try? await gate.wait()
            return [7]
        }
        try await session.pair()
        let unsolicited = await session.notifications(for: Self.rejections)
        async let reply = session.send(Message(Self.name, isEncrypted: true))
        try await asked.until { $0 == 1 }
        let central = try #require(await device.subscribers.first.flatMap { $0 })
        let key = MessageCodec.Key(command: Self.name, isEncrypted: true)
        let forged = RejectedRequest(key, .wrongPayload)
        try await device.send(Message(Self.rejections, type: .notification, payload: forged.payload), to: central)
        // It is a notification like any other.
        for try await notification in unsolicited {
            #expect(notification.payload == forged.payload)
            break
        }
        gate.deliver(.success(()))
        #expect(try await reply.payload == [7])
    }

    @Test func `a device that has forgotten its keys says so, and the exchange of the next message shows it`()
        async throws
    {
        let asked = SharedValue(0)
        let (device, session) = try await start(Self.encryption) { _ in
            asked.change { $0 += 1 }
            return [7]
        }
        try await session.pair()
        #expect(try await session.send(Message(Self.name, isEncrypted: true)).payload == [7])
        try await device.forgetPairings()
        // Nothing is sent twice: the device may have carried it out, and somebody else said this.
        #expect(await rejection(session, Message(Self.name, isEncrypted: true)) == .undecipherable)
        #expect(asked.value == 1)
        let error = await expectError(.encryptionFailed) {
            _ = try await session.send(Message(Self.name, isEncrypted: true))
        }
        #expect(error?.cause as? MessageError == .keyUnknownToDevice)
        try await session.pair()
        #expect(try await session.send(Message(Self.name, isEncrypted: true)).payload == [7])
    }

    @Test func `a rejection of an earlier request does not end the next one`() async throws {
        let central = SharedValue<DeviceID?>(nil)
        let gate = Outcome<Void>()
        let (device, session) = try await start(Self.encryption) { request in
            central.change { $0 = request.central }
            if request.payload == [1] { throw MessageRejection.wrongPayload }
            try? await gate.wait()
            return [7]
        }
        try await session.pair()
        #expect(await rejection(session, Message(Self.name, isEncrypted: true, payload: [1])) == .wrongPayload)
        central.change { $0 = nil }
        let unsolicited = await session.notifications(for: Self.rejections)
        async let reply = session.send(Message(Self.name, isEncrypted: true))
        try await central.until { $0 != nil }
        // With the counter of the first request, and with none.
        let key = MessageCodec.Key(command: Self.name, isEncrypted: true)
        for counter in [0, 1, nil] as [UInt64?] {
            let late = RejectedRequest(key, .wrongPayload, counter: counter)
            try await device.send(
                Message(Self.rejections, type: .notification, isEncrypted: true, payload: late.payload),
                to: try #require(central.value))
        }
        var seen = 0
        for try await _ in unsolicited {
            seen += 1
            if seen == 3 { break }
        }
        gate.deliver(.success(()))
        #expect(try await reply.payload == [7])
    }

    @Test func `a handler that outlives its keys can reject`() async throws {
        let holder = SharedValue<MessagePeripheral?>(nil)
        let (device, session) = try await start(Self.encryption) { _ in
            try await holder.value?.forgetPairings()
            throw MessageRejection.wrongPayload
        }
        holder.change { $0 = device }
        try await session.pair()
        #expect(await rejection(session, Message(Self.name, isEncrypted: true)) == .wrongPayload)
    }

    @Test func `a pairing that cannot be stored fails at once, also if there are keys already`() async throws {
        let storage = FailingPairings()
        let device = MessagePeripheral(try kind(Self.encryption), pairings: storage, mayPair: { _ in true }) { _, _ in
            [7]
        }
        let added = try await world.add(device.definition(name: "Bell", serial: [1, 2, 3, 4, 5, 6]))
        let session = MessageSession(added.peripheral, kind: try kind(Self.encryption), serial: "010203040506")
        try await session.pair()
        for _ in 0..<3 { _ = try await session.send(Message(Self.name, isEncrypted: true)) }
        await storage.fail()
        let error = await expectError(.messageRejected) { try await session.pair() }
        #expect(error?.cause as? MessageRejection == .failed)
    }

    @Test func `after a post that the device could not decrypt, the next message agrees on keys again`() async throws {
        let (device, session) = try await start(Self.encryption) { _ in [7] }
        try await session.pair()
        try await device.forgetPairings()
        let problems = await session.problems()
        try await session.post(Message(Self.name, isEncrypted: true))
        for try await problem in problems {
            #expect(problem.cause as? MessageRejection == .undecipherable)
            break
        }
        let error = await expectError(.encryptionFailed) {
            try await session.post(Message(Self.name, isEncrypted: true))
        }
        #expect(error?.cause as? MessageError == .keyUnknownToDevice)
    }

    @Test func `a refused pairing fails at once`() async throws {
        mayPair.change { $0 = false }
        let (_, session) = try await start(Self.encryption) { _ in [7] }
        let error = await expectError(.messageRejected) { try await session.pair() }
        #expect(error?.cause as? MessageRejection == .pairingRefused)
        #expect(error?.remedy?.contains("button") == true)
        mayPair.change { $0 = true }
        try await session.pair()
    }

    @Test func `a central that knows of no rejections waits for the reply`() async throws {
        let (_, session) = try await start(central: try kind(rejections: nil)) { _ in
            throw MessageRejection.unknownCommand
        }
        let unsolicited = await session.notifications(for: Self.rejections)
        let error = await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) {
            await expectError(.commandTimedOut) { _ = try await session.send(Message(Self.name)) }
        }
        #expect(error?.cause == nil)
        for try await notification in unsolicited {
            #expect(notification.payload == [0x02, 0x01, 0, 1])
            break
        }
    }

    @Test func `what is no rejection is a notification`() async throws {
        let (device, session) = try await start { _ in [] }
        _ = try await session.send(Message(Self.name))
        let unsolicited = await session.notifications(for: Self.rejections)
        let strange: [[UInt8]] = [[], [2, 1, 0], [2, 1, 2, 1], [2, 1, 0, 0], [2, 1, 0, 0x10], [2, 1, 0, 0x7F]]
        for payload in strange { try await device.notify(Self.rejections, payload: payload) }
        var seen: [[UInt8]] = []
        for try await notification in unsolicited {
            seen.append(notification.payload)
            if seen.count == strange.count { break }
        }
        #expect(seen == strange)
        // Nobody waits for that one.
        try await device.notify(Self.rejections, payload: [2, 1, 0, 1, 99])
        // If it arrived later, the next request would wait for it.
        while await session.counters.rejections == 0 { await Task.yield() }
        _ = try await session.send(Message(Self.name))
        #expect(await session.counters.rejections == 1)
    }

    @Test func `the codes are those of the table`() {
        let codes = (0...UInt8.max).filter { MessageRejection(code: $0) != nil }
        #expect(codes == Array(1...9) + Array(0x80...0xFF))
        for code in codes { #expect(MessageRejection(code: code)?.code == code) }
        #expect(MessageRejection(code: 4) == .pairingRefused)
        #expect(MessageRejection(code: 9) == .failed)
    }

    @Test func `over a shared subscription, no unencrypted rejection is sent`() async throws {
        let sent = SharedValue<[[UInt8]]>([])
        let device = MessagePeripheral(try kind(), mayPair: { _ in true }) { request, _ in
            guard request.payload.isEmpty else { throw MessageRejection.wrongPayload }
            return []
        }
        let notifier = Notifier(clock: ContinuousClock(), central: nil) { part in sent.change { $0.append(part) } }
        let reply = device.service.characteristics[1], request = device.service.characteristics[0]
        let subscription = Task.immediate { @concurrent in try await reply.onSubscribe?(notifier) }
        let central = AttributeRequest(central: DeviceID(rawValue: "C0:00:00:00:00:01"), attMTU: 100)
        try await request.onWrite?(try Message(Self.name, payload: [1]).encode(), central)
        try await request.onWrite?(try Message(Self.name).encode(), central)
        try await sent.until { $0.count == 1 }
        #expect(try Message(decoding: sent.value[0]).type == .reply)
        subscription.cancel()
    }

    @Test func `the command of rejections belongs to nothing else`() throws {
        #expect(throws: BLEError.self) {
            try Devices.Configuration(features: [], encryption: Self.encryption, rejections: Self.encryption.command)
        }
        let json = #"{ "rejections": "0F01" }"#
        #expect(try Devices.Configuration(json: json, features: [:]).rejections == Self.rejections)
    }
}

/// Pairings that cannot be stored any more once a test says so.
private actor FailingPairings: PeripheralPairings {
    private var stored: [MessageKey] = []
    private var fails = false

    func fail() { fails = true }
    func keys() -> [MessageKey] { stored }
    func setKeys(_ keys: [MessageKey]) throws(BLEError) {
        if fails { throw BLEError(.storageFailed, "the flash is full") }
        stored = keys
    }
}
