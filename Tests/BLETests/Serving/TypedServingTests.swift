import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Typed handlers, control points and served values, as a device of the radio and served by a host.
@Suite(.hangLimit) struct TypedServingTests {
    enum Ground: CaseIterable { case device, host }

    private let radio = SimulatedRadio()

    private static let service = BluetoothUUID(0xFFE0)
    private static let number = Characteristic<UInt16>(BluetoothUUID(0xFFE1), service: service)
    private static let point = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2), service: service)

    /// Runs `body` with centrals that are connected to a peripheral with the characteristics.
    private func serve(
        _ ground: Ground, _ characteristics: [CharacteristicDefinition], centrals count: Int = 1,
        _ body: ([Peripheral]) async throws -> Void
    ) async throws {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Machine"),
            services: [ServiceDefinition(Self.service, characteristics: characteristics)])
        func use() async throws {
            var centrals: [Central] = []
            for _ in 0..<count {
                centrals.append(try await Central(backend: .simulated(radio), configuration: .quiet()))
            }
            var peripherals: [Peripheral] = []
            for central in centrals {
                peripherals.append(try await central.first(matching: .name("Machine")).peripheral)
            }
            try await body(peripherals)
            for central in centrals { await central.shutDown() }
        }
        switch ground {
        case .device:
            _ = await radio.add(definition)
            try await use()
        case .host:
            let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
            try await host.withServed(definition) { _ in try await use() }
            await host.shutDown()
        }
    }

    // MARK: Handlers

    @Test(arguments: Ground.allCases)
    func `handlers read and take values, and reject with their errors`(_ ground: Ground) async throws {
        struct Broken: Error {}
        let state = SharedValue<UInt16>(7)
        let definition = CharacteristicDefinition(Self.number, [.read, .write]) { _ in
            guard state.value != 13 else { throw Broken() }
            return state.value
        } onWrite: { value, request in
            guard value < 1000 else { throw ATTError.outOfRange }
            #expect(request.writeType == .withResponse || request.writeType == nil)
            state.change { $0 = value }
        }
        try await serve(ground, [definition]) { peripherals in
            let machine = peripherals[0]
            #expect(try await machine.read(Self.number) == 7)
            try await machine.write(500, to: Self.number)
            #expect(state.value == 500)
            let tooMuch = await error { try await machine.write(1000, to: Self.number) }
            #expect(tooMuch?.attError == .outOfRange)
            let raw = Characteristic<[UInt8]>(Self.number.uuid, service: Self.service)
            let tooLong = await error { try await machine.write([1, 2, 3], to: raw) }
            #expect(tooLong?.attError == .valueNotAllowed)
            #expect(state.value == 500)
            try await machine.write(13, to: Self.number)
            let broken = await error { try await machine.read(Self.number) }
            #expect(broken?.attError == .unlikelyError)
        }
    }

    /// Returns the error that the body throws.
    private func error(_ body: () async throws -> some Sendable) async -> BLEError? {
        do {
            _ = try await body()
            return nil
        } catch { return error as? BLEError }
    }

    @Test(arguments: Ground.allCases)
    func `a value that is sent is read afterwards`(_ ground: Ground) async throws {
        let definition = try CharacteristicDefinition(Self.number, value: 1) { _, send in
            for value: UInt16 in 2...4 { try await send(value) }
        }
        try await serve(ground, [definition]) { peripherals in
            #expect(try await peripherals[0].read(Self.number) == 1)
            var values = try await peripherals[0].notifications(Self.number).makeAsyncIterator()
            for value: UInt16 in 2...4 { #expect(try await values.next() == value) }
            #expect(try await peripherals[0].read(Self.number) == 4)
        }
    }

    @Test func `a handler waits on the radio's clock, or on the host's`() async throws {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Machine"),
            services: [
                ServiceDefinition(
                    Self.service,
                    characteristics: [
                        CharacteristicDefinition(Self.number) { request in
                            try await request.clock.sleep(for: .seconds(3))
                            return 1
                        }
                    ])
            ])
        let device = await radio.add(definition)
        var configuration = Central.Configuration.quiet()
        configuration.clock = clock
        let central = try await Central(backend: .simulated(radio), configuration: configuration)
        let read = Task { try await central.find(device.id).read(Self.number) }
        await clock.run(for: .seconds(30))
        #expect(try await read.value == 1)
        #expect(AttributeRequest(central: "A", clock: clock) == AttributeRequest(central: "A"))
    }

    // MARK: Control points

    enum BrewResult: UInt8, ControlPointResult {
        case success = 1
        case notSupported = 2
        case failed = 4

        var meaning: String? { "\(self)" }
    }

    private struct Cold: Error {}

    /// Opcode 1 brews until `isDone`, 2 fails, 3 sends its parameter after the answer, 4 returns its parameter plus 1.
    private func point(_ isDone: SharedValue<Bool>) -> CharacteristicDefinition {
        .controlPoint(Self.point.uuid, responseOpcode: 0x80, failure: BrewResult.failed) { request in
            switch request.opcode {
            case 1:
                try await isDone.until { $0 }
                return .success()
            case 2: throw Cold()
            case 3: return .success { notifier in await notifier.notify([0x90] + request.parameter) }
            case 4:
                let number: UInt16 = try request.parameter()
                return .success(try (number + 1).encoded())
            default: return .result(.notSupported, [9])
            }
        }
    }

    @Test(arguments: Ground.allCases)
    func `a control point answers with results, is busy meanwhile, and sends what follows`(_ ground: Ground)
        async throws
    {
        let isDone = SharedValue(false)
        try await serve(ground, [point(isDone)]) { peripherals in
            let machine = peripherals[0]
            let early = await error { try await machine.write([1], to: Self.point) }
            #expect(early?.attError == .improperlyConfigured)
            var answers = try await machine.notifications(Self.point).makeAsyncIterator()
            try await machine.write([1], to: Self.point)
            let busy = await error { try await machine.write([4, 1, 0], to: Self.point) }
            #expect(busy?.attError == .procedureInProgress)
            let empty = await error { try await machine.write([], to: Self.point) }
            #expect(empty?.attError == .invalidAttributeValueLength)
            isDone.change { $0 = true }
            #expect(try await answers.next() == [0x80, 1, 1])
            for (request, answer) in [
                ([2], [0x80, 2, 4]), ([7], [0x80, 7, 2, 9]), ([4, 0xFF, 0x00], [0x80, 4, 1, 0x00, 0x01]),
                ([4, 1], [0x80, 4, 4]),
            ] as [([UInt8], [UInt8])] {
                try await machine.write(request, to: Self.point)
                #expect(try await answers.next() == answer)
            }
            try await machine.write([3, 5], to: Self.point)
            #expect(try await answers.next() == [0x80, 3, 1])
            #expect(try await answers.next() == [0x90, 5])
        }
    }

    // Centrals of one radio share a link to a device; for a host, each is one.
    @Test func `a central that never subscribes, and one that is busy, do not keep another from its procedures`()
        async throws
    {
        let isDone = SharedValue(false)
        try await serve(.host, [point(isDone)], centrals: 3) { peripherals in
            var busy = try await peripherals[0].notifications(Self.point).makeAsyncIterator()
            var other = try await peripherals[1].notifications(Self.point).makeAsyncIterator()
            try await peripherals[0].write([1], to: Self.point)
            let stranger = await error { try await peripherals[2].write([4, 1, 0], to: Self.point) }
            #expect(stranger?.attError == .improperlyConfigured)
            try await peripherals[1].write([4, 1, 0], to: Self.point)
            #expect(try await other.next() == [0x80, 4, 1, 2, 0])
            isDone.change { $0 = true }
            #expect(try await busy.next() == [0x80, 1, 1])
        }
    }

    @Test(arguments: Ground.allCases)
    func `the end of a subscription cancels its procedure, and the next one is not busy`(_ ground: Ground) async throws
    {
        let (isDone, ends) = (SharedValue(false), SharedValue(0))
        let point = CharacteristicDefinition.controlPoint(
            Self.point.uuid, responseOpcode: 0x80, failure: BrewResult.failed
        ) { request in
            defer { ends.change { $0 += 1 } }
            if request.opcode == 1 { try await isDone.until { $0 } }
            return .success()
        }
        try await serve(ground, [point]) { peripherals in
            let machine = peripherals[0]
            do {
                let answers = try await machine.notifications(Self.point)
                try await machine.write([1], to: Self.point)
                withExtendedLifetime(answers) {}
            }
            try await ends.until { $0 == 1 }
            var answers = try await machine.notifications(Self.point).makeAsyncIterator()
            try await machine.write([2], to: Self.point)
            #expect(try await answers.next() == [0x80, 2, 1])
        }
    }

    // MARK: Served values

    @Test(arguments: Ground.allCases)
    func `a served value is set from anywhere, read, sent to each subscriber, written and observed`(_ ground: Ground)
        async throws
    {
        let value = try ServedValue(Self.number, 1)
        let definition = value.definition([.read, .write, .notify]) { value, _ in
            guard value != 99 else { throw ATTError.outOfRange }
        }
        var changes = value.changes().makeAsyncIterator()
        try await serve(ground, [definition], centrals: 2) { peripherals in
            var streams = [
                try await peripherals[0].notifications(Self.number).makeAsyncIterator(),
                try await peripherals[1].notifications(Self.number).makeAsyncIterator(),
            ]
            #expect(try await peripherals[0].read(Self.number) == 1)
            try value.set(2)
            #expect(try await peripherals[1].read(Self.number) == 2)
            try await peripherals[0].write(3, to: Self.number)
            #expect(value.value == 3)
            let rejected = await error { try await peripherals[0].write(99, to: Self.number) }
            #expect(rejected?.attError == .outOfRange)
            try value.set(4)
            for index in streams.indices {
                for expected: UInt16 in 2...4 { #expect(try await streams[index].next() == expected) }
            }
        }
        for expected: UInt16 in 1...4 { #expect(try await changes.next() == expected) }
    }

    @Test func `a served value that cannot be encoded changes nothing`() async throws {
        let text = Characteristic<String>(BluetoothUUID(0xFFE3))
        let value = try ServedValue(text, "short")
        let long = String(repeating: "x", count: 513)
        await expectError(.invalidLength) { try value.set(long) }
        #expect(value.value == "short")
        await expectError(.invalidLength) { _ = try ServedValue(text, long) }
    }
}
