import BLE
import BLESimulation
import BLETesting
import Testing

@testable import BLETransfers

/// Peers that do not follow the protocol.
@Suite(.hangLimit, .tracesFailures) struct HostileTests {
    /// A central that writes any packets, and reads the answers.
    private struct RawCentral {
        let peripheral: Peripheral
        let answers: NotificationStream<[UInt8]>

        init(_ peripheral: Peripheral) async throws {
            self.peripheral = peripheral
            answers = try await peripheral.notifications(Characteristic<[UInt8]>(.transferOutput))
        }

        func write(_ bytes: [UInt8]) async throws {
            try await peripheral.write(
                bytes, to: Characteristic<[UInt8]>(.transferInput), type: .withoutResponse)
        }

        func write(_ message: TransferMessage, token: UInt16 = 1) async throws {
            try await write(TransferPacket(token, message).bytes)
        }

        func open(_ file: TransferFile, token: UInt16 = 1) async throws {
            for packet in TransferOpening.begin(file, isNew: false).packets(token, length: 244) {
                try await write(packet.bytes)
            }
        }

        func answer() async throws -> TransferMessage? {
            var iterator = answers.makeAsyncIterator()
            return try await iterator.next().map { try TransferPacket(decoding: $0).message }
        }
    }

    static let refusals: [(TransferFile, TransferRefusal)] = [
        (TransferFile(name: "a", length: Int(UInt32.max), checksum: 0, identifier: 0), .tooLarge),
        (TransferFile(name: "a", length: 1 << 20, checksum: 0, identifier: 0), .tooLarge),
        (TransferFile(name: "a\n", length: 1, checksum: 0, identifier: 0), .nameRefused),
    ]

    @Test(arguments: refusals) func `an offer is refused`(_ file: TransferFile, _ refusal: TransferRefusal) async throws
    {
        let setting = try await TransferWorld(capacity: 100_000)
        let central = try await RawCentral(setting.peripheral)
        try await central.open(file)
        #expect(try await central.answer() == .stop(refusal))
    }

    @Test func `a client learns why it is refused`() async throws {
        let setting = try await TransferWorld(
            files: ["full": .random(90_000)], configuration: .init(maximumLength: 99_000), capacity: 100_000)
        let bytes = [UInt8].random(99_001)
        for (count, refusal) in [(99_001, TransferRefusal.tooLarge), (99_000, .noRoom)] {
            let error = await expectError(.transferRefused) {
                try await setting.client().send(Array(bytes[..<count]), as: "a").finish()
            }
            #expect(error?.transferRefusal == refusal)
        }
        let missing = await expectError(.transferRefused) { try await setting.client().receive("none") }
        #expect(missing?.transferRefusal == .notFound)
        await expectError(.invalidLength) { try await setting.client().receive("full", maximumLength: 1000) }
        for name in ["", "a\u{0}", String(repeating: "a", count: 201)] {
            await expectError(.invalidArgument) { try await setting.client().send([1], as: name).finish() }
        }
    }

    @Test func `openings for ever, and parts of them, are answered, and the next transfer succeeds`() async throws {
        let setting = try await TransferWorld()
        let central = try await RawCentral(setting.peripheral)
        let file = TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0)
        for number in 0..<200 { try await central.open(file, token: UInt16(number)) }
        for _ in 0..<200 { try await central.write([1, 9, 9, 255, 1]) }
        for _ in 0..<200 { try await central.write([3, 9, 9] + [UInt8](repeating: 1, count: 200)) }
        for _ in 0..<200 { try await central.write([UInt8](repeating: 0xFF, count: 200)) }
        await central.answers.end()
        // The central is refused for a while.
        try await setting.whileTimePasses {
            try await setting.client().send(.random(5_000), as: "b", reconnects: 100).finish()
        }
        #expect(await setting.storage.files["b"] == .random(5_000))
    }

    @Test func `data that was not granted, and data without an offer, are not stored`() async throws {
        let setting = try await TransferWorld(configuration: .init(window: 100))
        let central = try await RawCentral(setting.peripheral)
        try await central.write(.data(offset: 0, [1, 2, 3]))
        try await central.write(.status)
        #expect(try await central.answer() == .stop(.timedOut))
        try await central.open(TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0))
        #expect(try await central.answer() == .accept(version: 1, offset: 0, checksum: 0, limit: 100))
        try await central.write(.data(offset: 0, [UInt8](repeating: 1, count: 101)[...]))
        #expect(try await central.answer() == .stop(.invalidMessage))
        #expect(await setting.storage.partLengths.isEmpty)
    }

    @Test func `a packet that is too short ends the transfer, and the central is told`() async throws {
        let setting = try await TransferWorld()
        let central = try await RawCentral(setting.peripheral)
        try await central.open(TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0))
        #expect(try await central.answer() == .accept(version: 1, offset: 0, checksum: 0, limit: 1000))
        try await central.write([4, 1, 0, 0])
        #expect(try await central.answer() == .stop(.invalidMessage))
        await central.answers.end()
    }

    @Test func `a silent central does not hold a name for ever`() async throws {
        let setting = try await TransferWorld()
        let central = try await RawCentral(setting.peripheral)
        try await central.open(TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0))
        try await setting.whileTimePasses {
            var last: TransferMessage?
            while last != .stop(.timedOut) { last = try await central.answer() }
        }
        await central.answers.end()
        try await setting.client().send([1, 2, 3], as: "a").finish()
        #expect(await setting.storage.files == ["a": [1, 2, 3]])
    }

    @Test(arguments: [TransferMessage.open(.begin, length: 100, [1]), .open(.fetch, length: 1, [9])])
    func `half an opening that replaces a transfer, and packets after it, do not hold its name`(
        _ replacement: TransferMessage
    ) async throws {
        let setting = try await TransferWorld()
        let central = try await RawCentral(setting.peripheral)
        try await central.open(TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0))
        #expect(try await central.answer() == .accept(version: 1, offset: 0, checksum: 0, limit: 1000))
        try await central.write(replacement, token: 2)
        let client = setting.client(.channel(0x0080))
        try await setting.whileTimePasses {
            async let trickle: Void = {
                for _ in 0..<30 {
                    try await setting.world.clock.sleep(for: .seconds(1))
                    try await central.write(.more([]), token: 2)
                }
            }()
            try await client.send([1, 2, 3], as: "a", reconnects: 20).finish()
            try await trickle
        }
        #expect(await setting.storage.files == ["a": [1, 2, 3]])
        await central.answers.end()
    }

    @Test func `a central that leaves transfers incomplete for ever is refused for a while`() async throws {
        let setting = try await TransferWorld()
        let central = try await RawCentral(setting.peripheral)
        let file = TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0)
        for token in 0..<20 { try await central.open(file, token: UInt16(token)) }
        var last: TransferMessage?
        while last != .stop(.busy) { last = try await central.answer() }
        // It is served again later.
        try await setting.world.asTimePasses(inSleepsOfAtMost: .seconds(60)) {
            try await setting.world.clock.sleep(for: .seconds(60))
        }
        while last == .stop(.busy) {
            try await central.open(TransferFile(name: "b", length: 1, checksum: 0, identifier: 0), token: 99)
            last = try await central.answer()
        }
        #expect(last == .accept(version: 1, offset: 0, checksum: 0, limit: 1))
        await central.answers.end()
    }

    @Test func `transfers over other channels, and a trivial file, do not hide those that are incomplete`() async throws
    {
        let setting = try await TransferWorld()
        let file = TransferFile(name: "a", length: 1000, checksum: 0, identifier: 0)
        var answers: [TransferMessage] = []
        for _ in 0..<6 {
            let channel = try await setting.peripheral.openChannel(0x0080)
            for (token, file) in [file, file, file, TransferFile(name: "empty", bytes: [])].enumerated() {
                for packet in TransferOpening.begin(file, isNew: false).packets(UInt16(token), length: 100) {
                    try await channel.send(packet.bytes)
                }
                while let bytes = try await channel.receive(timeout: .seconds(1)) {
                    let answer = try TransferPacket(decoding: bytes)
                    guard answer.token == token else { continue }
                    answers.append(answer.message)
                    if file.length > 0 || answer.message != .accept(version: 1, offset: 0, checksum: 0, limit: 0) {
                        break
                    }
                }
                try await channel.send(TransferPacket(UInt16(token), .stop(.cancelled)).bytes)
            }
            channel.close()
        }
        #expect(answers.last == .stop(.busy))
    }

    @Test func `a file with a wrong checksum is discarded, and refused`() async throws {
        let setting = try await TransferWorld()
        let bytes = [UInt8].random(1000)
        var file = TransferFile(name: "a", bytes: bytes)
        file.checksum ^= 1
        let error = await expectError(.transferRefused) {
            try await setting.client().send(file, from: ByteSource(bytes: bytes)).finish()
        }
        #expect(error?.transferRefusal == .wrongChecksum && error?.isRetryable == true)
        #expect(await setting.storage.files.isEmpty)
        #expect(await setting.storage.partLengths.isEmpty)
    }

    /// A peripheral that answers each packet as a test says.
    private func scripted(
        _ answer: @escaping @Sendable (TransferPacket) -> [TransferMessage]
    ) async throws -> (SimulatedWorld, TransferClient) {
        let notifier = SharedValue<Notifier?>(nil)
        let service = ServiceDefinition(
            .transfer,
            characteristics: [
                CharacteristicDefinition(
                    .transferInput, .writeWithoutResponse,
                    onWrite: { (bytes, _) throws(ATTError) in
                        guard let packet = try? TransferPacket(decoding: bytes) else { return }
                        for message in answer(packet) {
                            await notifier.value?.notify(TransferPacket(packet.token, message).bytes)
                        }
                    }),
                CharacteristicDefinition(
                    .transferOutput, .notify,
                    onSubscribe: { subscriber in
                        notifier.change { $0 = subscriber }
                        await untilCancelled()
                    }),
            ])
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(localName: "Scripted", rssi: -50), services: [service]))
        return (world, TransferClient(peripheral, configuration: .init(openingTimeout: .seconds(10))))
    }

    static let answers: [(TransferMessage, BLEError.Code)] = [
        (.accept(version: 1, offset: 5000, checksum: 0, limit: 6000), .transferFailed),
        (.accept(version: 1, offset: 10, checksum: 0, limit: 5), .transferFailed),
        (.accept(version: 9, offset: 0, checksum: 0, limit: 5), .transferFailed),
        (.accept(version: 1, offset: 0, checksum: 0, limit: 0), .timedOut),
        (.stop(.tooLarge), .transferRefused), (.stop(TransferRefusal(rawValue: 200)), .transferRefused),
        (.done, .timedOut), (.status, .timedOut),
    ]

    @Test(arguments: answers) func `a peripheral's answer ends a transfer`(
        _ answer: TransferMessage, _ code: BLEError.Code
    ) async throws {
        let (world, client) = try await scripted { packet in
            if case .open = packet.message { [answer] } else { [] }
        }
        _ = await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) {
            await expectError(code) { try await client.send(.random(1000), as: "a").finish() }
        }
    }

    @Test func `a peripheral that is done before it has the file has not received it`() async throws {
        let (_, client) = try await scripted { packet in
            if case .open = packet.message {
                [.accept(version: 1, offset: 0, checksum: 0, limit: 100), .done]
            } else {
                []
            }
        }
        await expectError(.transferFailed) { try await client.send(.random(1000), as: "a").finish() }
    }

    @Test func `a peripheral that sends anything for ever does not hold a transfer`() async throws {
        let (world, client) = try await scripted { packet in
            // Messages of no meaning do not count as progress.
            if case .open = packet.message {
                [.accept(version: 1, offset: 0, checksum: 0, limit: 100)]
            } else {
                [.more([1]), .grant(offset: 0, limit: 0)]
            }
        }
        _ = await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) {
            await expectError(.timedOut) { try await client.send(.random(1000), as: "a").finish() }
        }
    }

    @Test func `an offer in the transfer of another file is refused, and the peripheral is told`() async throws {
        let received = SharedValue<[TransferMessage]>([])
        let (_, client) = try await scripted { packet in
            received.change { $0.append(packet.message) }
            guard case .open = packet.message else { return [] }
            let other = TransferOpening.begin(
                TransferFile(name: "other", length: 1, checksum: 0, identifier: 0), isNew: false)
            return other.packets(packet.token, length: 100).map(\.message)
        }
        await expectError(.transferFailed) { try await client.send([1], as: "a").finish() }
        #expect(received.value.last == .stop(.invalidMessage))
    }

    @Test(arguments: [-1, TransferFile.maximumLength + 1])
    func `a library's file of a length that cannot be sent is refused`(_ length: Int) async throws {
        struct Library: TransferLibrary {
            let length: Int
            func file(named name: String, for central: DeviceID) -> (TransferFile, any TransferSource) {
                (TransferFile(name: name, length: length, checksum: 0, identifier: 0), ByteSource(bytes: []))
            }
        }
        let world = try await SimulatedWorld()
        let receiver = TransferPeripheral(nil, library: Library(length: length))
        let (peripheral, _) = try await world.add(receiver.definition(name: "Receiver"))
        let error = await expectError(.transferRefused) { try await TransferClient(peripheral).receive("a") }
        #expect(error?.transferRefusal == .tooLarge)
    }

    @Test func `an offer of another file than was asked for is refused`() async throws {
        let (_, client) = try await scripted { packet in
            guard case .open = packet.message else { return [] }
            let other = TransferOpening.begin(
                TransferFile(name: "other", length: 1, checksum: 0, identifier: 0), isNew: false)
            return other.packets(packet.token, length: 100).map(\.message)
        }
        await expectError(.transferFailed) { try await client.receive("a") }
    }

    @Test func `a central that does not read its channel ends its own transfer only`() async throws {
        let bytes = [UInt8].random(1_000_000)
        let setting = try await TransferWorld(files: ["a": bytes])
        let channel = try await setting.peripheral.openChannel(0x0080)
        for packet in TransferOpening.fetch(name: "a").packets(1, length: 100) { try await channel.send(packet.bytes) }
        _ = try await channel.receive(timeout: .seconds(1))
        let limit = Int(UInt32.max)
        try await channel.send(TransferPacket(1, .accept(version: 1, offset: 0, checksum: 0, limit: limit)).bytes)
        let received = try await setting.client(.channel(0x0080)).receive("a")
        #expect(received == bytes)
        // The peripheral gives up, and closes the channel.
        try await setting.world.asTimePasses(inSleepsOfAtMost: .seconds(60)) {
            try await setting.world.clock.sleep(for: .seconds(40))
        }
        var count = 0
        for try await packet in channel.packets { count += packet.count }
        #expect(count < bytes.count)
    }

    @Test func `a transfer that the storage refuses does not suspend the one that has the file`() async throws {
        let storage = MemoryTransferStorage()
        let bytes = [UInt8].random(1000)
        let file = TransferFile(name: "a", bytes: bytes)
        _ = try await storage.begin(file, isNew: false, from: "C0:00:00:00:00:01")
        let inbox = PacketInbox(window: 1000)
        let link = TransferLink(
            inbox: inbox, clock: ManualClock(), packetLength: { 20 }, window: { 1000 }, send: { _ in }, close: {})
        let lease = TransferLease("a")
        let exchange = TransferExchange(
            link: link, token: 1, timeouts: TransferTimeouts(opening: .seconds(60), progress: .seconds(10)),
            lease: lease, report: { _ in })
        let end = try await exchange.receive(file, isNew: false, from: "C0:00:00:00:00:02", into: storage)
        guard case .failed(.busy, _) = end else {
            Issue.record("\(end)")
            return
        }
        await withCheckedContinuation { continuation in lease.perform { continuation.resume() } }
        try await storage.write(bytes, at: 0, of: file)
        try await storage.finish(file)
        #expect(await storage.files == ["a": bytes])
    }

    @Test func `a receiver that takes data and acknowledges none ends a transfer before all is sent`() async throws {
        let clock = ManualClock()
        let inbox = PacketInbox(window: 1000)
        let sent = SharedValue(0)
        let link = TransferLink(
            inbox: inbox, clock: clock, packetLength: { 20 }, window: { 1000 },
            send: { (bytes) throws(BLEError) in
                clock.advance(by: .seconds(1))
                switch (try? TransferPacket(decoding: bytes))?.message {
                case .open:
                    inbox.offer(TransferPacket(1, .accept(version: 1, offset: 0, checksum: 0, limit: 5000)).bytes)
                case .status: inbox.offer(TransferPacket(1, .resend(offset: 0, limit: 5000)).bytes)
                case .data(let offset, let data):
                    sent.change { $0 += data.count }
                    if offset + data.count == 5000 { inbox.offer(TransferPacket(1, .done).bytes) }
                default: break
                }
            }, close: {})
        let exchange = TransferExchange(
            link: link, token: 1, timeouts: TransferTimeouts(opening: .seconds(60), progress: .seconds(10)),
            lease: TransferLease("a"), report: { _ in })
        let bytes = [UInt8].random(5000)
        let end = try await exchange.send(TransferFile(name: "a", bytes: bytes), from: ByteSource(bytes: bytes))
        guard case .failed(.timedOut, _) = end else {
            Issue.record("\(end)")
            return
        }
        #expect(sent.value < 1000)
    }
}
